import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findPostgres } from './postgres-server.mjs';

async function fakePrograms(version: string, names = ['postgres', 'initdb']): Promise<string> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), 'svc-bin-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(folder, { recursive: true });
  for (const name of names) {
    await writeFile(join(folder, name), `#!/bin/sh\necho "${name} (PostgreSQL) ${version}"\n`);
    await chmod(join(folder, name), 0o755);
  }
  return folder;
}

test('the folder that was given is used before all others', async () => {
  const folder = await fakePrograms('17.2');
  expect(await findPostgres({ POSTGRES_BIN: folder, PATH: await fakePrograms('18.0') })).toEqual({
    postgres: join(folder, 'postgres'),
    initdb: join(folder, 'initdb'),
    version: 17,
  });
});

test('a given folder without both programs, or with old ones, is an error and is not skipped', async () => {
  for (const folder of [await fakePrograms('17.2', ['postgres']), await fakePrograms('14.9')]) {
    await expect(findPostgres({ POSTGRES_BIN: folder })).rejects.toThrow(
      `POSTGRES_BIN=${folder} does not have the programs postgres and initdb of PostgreSQL 15 or newer`,
    );
  }
});

test('programs on PATH that are too old are skipped', async () => {
  const [old, young] = [await fakePrograms('14.9'), await fakePrograms('16.1')];
  expect(await findPostgres({ PATH: `${old}:${young}` })).toMatchObject({
    version: 16,
    initdb: join(young, 'initdb'),
  });
});
