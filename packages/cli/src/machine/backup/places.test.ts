import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SvcError } from '@svc/shared/errors.ts';
import { afterAll, describe, expect, test } from 'vitest';
import { UsageError } from '../../command.ts';
import { explainedFull, natsFilesIn } from './places.ts';

const folder = await mkdtemp(join(tmpdir(), 'svc-places-'));

afterAll(() => rm(folder, { recursive: true }));

describe('the files of "svc region"', () => {
  test('are its keys, accounts and regions, and nothing else in the folder', async () => {
    const nats = join(folder, 'nats');
    await mkdir(join(nats, 'jetstream.conf'), { recursive: true });
    for (const name of ['coordinator.nk', 'accounts.conf', 'regions.json', 'notes.txt'])
      await writeFile(join(nats, name), '');
    expect((await natsFilesIn(nats)).sort()).toEqual(['accounts.conf', 'coordinator.nk', 'regions.json']);
  });

  test('are absent when the folder does not exist', async () => {
    expect(await natsFilesIn(join(folder, 'none'))).toEqual([]);
  });

  test('are not reported as absent when the folder cannot be read', async () => {
    const file = join(folder, 'file');
    await writeFile(file, '');
    await expect(natsFilesIn(file)).rejects.toThrow(UsageError);
    await expect(natsFilesIn(file)).rejects.toThrow(`cannot read the keys of NATS in ${file}: ENOTDIR`);
  });
});

const failed = (members: object) => Object.assign(new Error('no space left'), members);

test.each([
  ['of a file', failed({ code: 'ENOSPC' })],
  ['of a quota', failed({ code: 'EDQUOT' })],
  [
    'of SQLite, below another one',
    new SvcError('bad-backup', 'cannot copy', { cause: failed({ errcode: 13 }) }),
  ],
])('an error %s says that there is no room', (_what, error) => {
  expect(explainedFull(error, '/backup')).toMatchObject({
    code: 'file-not-written',
    message: expect.stringMatching(/^there is no room in \/backup: no space left\. .*Make room/),
    cause: error,
  });
});

test('another error stays as it is', () => {
  const error = new SvcError('bad-backup', 'damaged', { cause: failed({ code: 'EACCES' }) });
  expect(explainedFull(error, '/backup')).toBe(error);
});
