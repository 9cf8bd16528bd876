import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as coordinator from '@svc/coordinator/store/access/key-files.ts';
import { generateSecretKey } from '@svc/coordinator/store/declaration/secrets.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runCommandLine } from './command-line.ts';
import { PREVIOUS_SECRET_KEY_FILE, SECRET_KEY_FILE } from './secret-key-command.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-key-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const KEY = `${Buffer.alloc(32, 1).toString('base64')}\n`;

async function rotate(environment: Record<string, string> = {}): Promise<{ code: number; err: string }> {
  let err = '';
  const code = await runCommandLine(['secret-key', 'rotate'], {
    environment: { SVC_DATA_DIR: folder, ...environment },
    out: { write: () => {} },
    err: { write: (text) => (err += text) },
  });
  return { code, err };
}

test('files are where the coordinator looks for them', () => {
  expect(SECRET_KEY_FILE).toBe(coordinator.SECRET_KEY_FILE);
  expect(PREVIOUS_SECRET_KEY_FILE).toBe(coordinator.PREVIOUS_SECRET_KEY_FILE);
});

test('a new key replaces the former, which is kept; only the owner may read both', async () => {
  writeFileSync(join(folder, SECRET_KEY_FILE), KEY, { mode: 0o600 });
  const { code, err } = await rotate();
  expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('restart the coordinator') });
  const key = readFileSync(join(folder, SECRET_KEY_FILE), 'utf8');
  expect(Buffer.from(key, 'base64')).toHaveLength(32);
  expect(key).not.toBe(KEY);
  expect(readFileSync(join(folder, PREVIOUS_SECRET_KEY_FILE), 'utf8')).toBe(KEY);
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toHaveLength(2);
  expect(err).not.toContain(key.trim());
});

test('a former key that is there is not overwritten', async () => {
  writeFileSync(join(folder, SECRET_KEY_FILE), KEY);
  writeFileSync(join(folder, PREVIOUS_SECRET_KEY_FILE), 'older');
  expect(await rotate()).toEqual({ code: 2, err: expect.stringContaining('is not finished') });
  expect(readFileSync(join(folder, SECRET_KEY_FILE), 'utf8')).toBe(KEY);
});

test.each([
  [{}, 'there is no key'],
  [{ SVC_SECRET_KEY: KEY.trim() }, 'SVC_SECRET_KEY sets the key'],
])('%j: %s', async (environment, message) => {
  expect(await rotate(environment as Record<string, string>)).toEqual({
    code: 2,
    err: expect.stringContaining(message),
  });
});

describe('the former key', () => {
  const keysNow = () => coordinator.keptKeys(folder, generateSecretKey);

  test('is removed by the start that has encrypted everything again', async () => {
    const { key: former } = await keysNow();
    await rotate();
    const keys = await keysNow();
    expect(keys.previous?.reveal()).toBe(former.reveal());
    await coordinator.forgetPreviousKey(folder, keys);
    const now = await keysNow();
    expect([now.key.reveal(), now.previous]).toEqual([keys.key.reveal(), null]);
  });

  test('stays when it was changed while a coordinator was starting with it', async () => {
    const starting = await keysNow();
    await rotate();
    await coordinator.forgetPreviousKey(folder, starting);
    expect((await keysNow()).previous?.reveal()).toBe(starting.key.reveal());
  });

  test('stays when it was changed between the reading of the two files', async () => {
    const { key } = await keysNow();
    await rotate();
    await coordinator.forgetPreviousKey(folder, { key, previous: key });
    expect((await keysNow()).previous?.reveal()).toBe(key.reveal());
  });
});
