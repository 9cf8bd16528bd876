import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { findNatsServer, isNewEnough } from './nats-server.mjs';

async function fakeBinary(version: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bin-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'nats-server');
  await writeFile(path, `#!/bin/sh\necho "nats-server: v${version}"\n`);
  await chmod(path, 0o755);
  return path;
}

test('the path that was given is used before all others', async () => {
  const path = await fakeBinary('2.11.4');
  expect(await findNatsServer({ SVC_NATS_SERVER: path })).toEqual({
    path,
    version: '2.11.4',
    source: 'SVC_NATS_SERVER',
  });
});

test('a given path that is no server, or too old, is an error and is not skipped', async () => {
  await expect(findNatsServer({ SVC_NATS_SERVER: '/nowhere' })).rejects.toThrow(
    'SVC_NATS_SERVER=/nowhere is not a nats-server that runs on this machine',
  );
  const old = await fakeBinary('2.8.4');
  await expect(findNatsServer({ SVC_NATS_SERVER: old })).rejects.toThrow(
    'is version 2.8.4; svc needs 2.9.10 or newer',
  );
});

test('a server on PATH that is too old is skipped', async () => {
  const old = await fakeBinary('2.1.0');
  const found = await findNatsServer({ PATH: join(old, '..') });
  expect(found.path).not.toBe(old);
});

test('no process is started for a folder without one', async () => {
  const path = await fakeBinary('2.11.4');
  const folders = ['/nowhere', '/nowhere/else', join(path, '..')];
  let started = 0;
  const count = () => {
    started += 1;
  };
  subscribe('child_process', count);
  onTestFinished(() => void unsubscribe('child_process', count));
  expect(await findNatsServer({ PATH: folders.join(delimiter) })).toMatchObject({ path, source: 'PATH' });
  expect(started).toBe(1);
});

test.each([
  ['2.9.10', true],
  ['2.10.0', true],
  ['3.0.0', true],
  ['2.9.9', false],
  ['1.99.99', false],
])('version %s is new enough: %s', (version, expected) => {
  expect(isNewEnough(version)).toBe(expected);
});
