import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { API_TOKEN_FILE } from '@svc/coordinator/store/access/key-files.ts';
import { readEnvironment } from '@svc/shared/settings/environment.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CLI_SETTINGS } from './cli-settings.ts';
import { findToken, GENERATED_TOKEN_FILE } from './token.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-token-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function find(environment: Record<string, string>) {
  const all = { SVC_DATA_DIR: folder, ...environment };
  const { token, source } = findToken(readEnvironment(CLI_SETTINGS, all).values, all);
  return { token: token.reveal(), source };
}

test('the generated token is looked for where the coordinator keeps it', () => {
  expect(GENERATED_TOKEN_FILE).toBe(API_TOKEN_FILE);
});

test('the token of the settings wins over the generated one', () => {
  writeFileSync(join(folder, 'api-token'), 'generated\n');
  expect(find({ SVC_API_TOKEN: 'given' })).toEqual({ token: 'given', source: 'SVC_API_TOKEN' });
  expect(find({})).toEqual({ token: 'generated', source: join(folder, 'api-token') });
});

test.each(['given\n', 'given\nformer\n'])(
  'the setting can be a file, of which the first line counts',
  (text) => {
    const path = join(folder, 'mine');
    writeFileSync(path, text);
    expect(find({ SVC_API_TOKEN_FILE: path })).toEqual({ token: 'given', source: 'SVC_API_TOKEN_FILE' });
  },
);

describe('the generated token', () => {
  test.each(['http://127.0.0.1:1', 'http://localhost', 'https://[::1]:8080/'])('is sent to %s', (baseUrl) => {
    writeFileSync(join(folder, 'api-token'), 'generated\n');
    expect(find({ SVC_BASE_URL: baseUrl }).token).toBe('generated');
  });

  test.each(['https://svc.example.com', 'http://127.0.0.1.example.com', 'http://10.0.0.1'])(
    'is not sent to %s',
    (baseUrl) => {
      writeFileSync(join(folder, 'api-token'), 'generated\n');
      expect(() => find({ SVC_BASE_URL: baseUrl })).toThrow(`set SVC_API_TOKEN to a token of ${baseUrl}`);
    },
  );

  test('is reported as missing when it is absent or empty', () => {
    const message = `there is no API token: set SVC_API_TOKEN, or SVC_DATA_DIR to the data folder of the coordinator, with systemd /var/lib/svc (looked for ${join(folder, 'api-token')})`;
    expect(() => find({})).toThrow(message);
    writeFileSync(join(folder, 'api-token'), '\n');
    expect(() => find({})).toThrow(message);
  });
});
