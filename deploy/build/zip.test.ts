import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { zip } from './zip.ts';

const run = promisify(execFile);

const ENTRIES = [
  { name: 'start', content: Buffer.from('#!/bin/sh\n'), isExecutable: true },
  { name: 'Übersicht.txt', content: Buffer.from('text') },
];

/** Names and permissions, from the central directory at the end of the file (APPNOTE.TXT 4.3.12 and 4.3.16). */
function listed(file: Buffer): { name: string; mode: string; time: number }[] {
  const end = file.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'));
  let at = file.readUInt32LE(end + 16);
  return Array.from({ length: file.readUInt16LE(end + 10) }, () => {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) =>
      file.readUInt16LE(at + offset),
    );
    const entry = {
      name: file.toString('utf8', at + 46, at + 46 + nameLength!),
      mode: (file.readUInt32LE(at + 38) >>> 16).toString(8),
      time: file.readUInt32LE(at + 12),
    };
    at += 46 + nameLength! + extraLength! + commentLength!;
    return entry;
  });
}

test('what is executable stays so, and every entry is of the first moment of 1980', async () => {
  const first = (1 << 21) | (1 << 16);
  expect(listed(await zip(ENTRIES))).toEqual([
    { name: 'start', mode: '100755', time: first },
    { name: 'Übersicht.txt', mode: '100644', time: first },
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
