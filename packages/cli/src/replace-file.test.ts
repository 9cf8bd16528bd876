import { mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { replaceFile } from './replace-file.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-replace-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
});

const place = (name: string): string => join(folder, name);

test('the file has the new text, and only its owner reads it', async () => {
  await writeFile(place('api-token'), 'former', { mode: 0o644 });
  await replaceFile(place('api-token'), 'new');
  expect(await readFile(place('api-token'), 'utf8')).toBe('new');
  expect((await stat(place('api-token'))).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(['api-token']);
});

test('drafts of killed processes are removed; drafts of running processes and other files stay', async () => {
  const dead = new Date(Date.now() - 3_600_000);
  const old = ['api-token.0123456789ab', 'other.0123456789ab', 'api-token.txt', 'api-token.0123'];
  for (const name of [...old, 'api-token.ba9876543210']) await writeFile(place(name), 'secret');
  for (const name of old) await utimes(place(name), dead, dead);
  await replaceFile(place('api-token'), 'new');
  expect((await readdir(folder)).sort()).toEqual([
    'api-token',
    'api-token.0123',
    'api-token.ba9876543210',
    'api-token.txt',
    'other.0123456789ab',
  ]);
});
