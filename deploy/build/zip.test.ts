import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { unzip } from '../../test/support/unzip.ts';
import { zip } from './zip.ts';

const run = promisify(execFile);

const ENTRIES = [
  { name: 'start', content: Buffer.from('#!/bin/sh\n'), isExecutable: true },
  { name: 'Übersicht.txt', content: Buffer.from('text') },
];

test('files keep their content and their executable bit, and are dated to the first moment of 1980', async () => {
  const first = (1 << 21) | (1 << 16);
  expect(unzip(await zip(ENTRIES))).toEqual([
    { name: 'start', content: ENTRIES[0]!.content, mode: '100755', time: first },
    { name: 'Übersicht.txt', content: ENTRIES[1]!.content, mode: '100644', time: first },
  ]);
});

test('the same bytes in every time zone', async () => {
  const script = `
    import { zip } from ${JSON.stringify(import.meta.resolve('./zip.ts'))};
    const file = await zip([{ name: 'a', content: Buffer.from('a') }]);
    process.stdout.write(file.toString('base64'));`;
  const inZone = async (TZ: string) => {
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], {
      env: { TZ },
    });
    return stdout;
  };
  const [honolulu, tokyo] = await Promise.all([inZone('Pacific/Honolulu'), inZone('Asia/Tokyo')]);
  expect(honolulu).not.toBe('');
  expect(honolulu).toBe(tokyo);
});
