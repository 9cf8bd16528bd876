import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../../../../../test/support/configured-store.ts';
import { generatedSecret } from './key-files.ts';
import { generateToken } from './tokens.ts';

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(() => folder.remove());

test('a secret is made once, and only the owner of its file can read it', async () => {
  const data = join(folder.path, 'data');
  const made = await generatedSecret(data, 'api-token', generateToken);
  expect(made.reveal()).toMatch(/^svc_[\w-]{43}$/);
  expect((await generatedSecret(data, 'api-token', generateToken)).reveal()).toBe(made.reveal());
  expect((await stat(join(data, 'api-token'))).mode & 0o777).toBe(0o600);
  expect(await readdir(data)).toEqual(['api-token']);
});

test('processes that start at once get the same secret', async () => {
  const all = await Promise.all(
    Array.from({ length: 20 }, () => generatedSecret(folder.path, 'api-token', generateToken)),
  );
  expect(new Set(all.map((secret) => secret.reveal())).size).toBe(1);
  expect(await readdir(folder.path)).toEqual(['api-token']);
});

test('an empty file is an error and not a secret', async () => {
  await writeFile(join(folder.path, 'api-token'), '\n');
  await expect(generatedSecret(folder.path, 'api-token', generateToken)).rejects.toThrow('is empty');
});
