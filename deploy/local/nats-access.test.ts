import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeNatsAccess, writeNatsClusterAccess } from './nats-access.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-nats-access-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const passwordIn = (file: string) => new URL(readFileSync(file, 'utf8').trim()).password;

test('configuration and URL have the same random password, in files of the owner alone', () => {
  const { configFile, urlFile } = writeNatsAccess(folder, 4222, '/store');
  const password = passwordIn(urlFile);
  expect(password).toMatch(/^[\w-]{32}$/);
  expect(readFileSync(configFile, 'utf8')).toContain(`password: "${password}"`);
  expect([configFile, urlFile].map((file) => statSync(file).mode & 0o777)).toEqual([0o600, 0o600]);
});

test('the password stays the same, the port may change', () => {
  const password = passwordIn(writeNatsAccess(folder, 4222, '/store').urlFile);
  const { urlFile } = writeNatsAccess(folder, 4333, '/store');
  expect(passwordIn(urlFile)).toBe(password);
  expect(readFileSync(urlFile, 'utf8')).toContain('@127.0.0.1:4333');
});

test('an earlier configuration that all could read becomes private', () => {
  writeFileSync(join(folder, 'nats.conf'), 'listen: 127.0.0.1:4222', { mode: 0o644 });
  const { configFile } = writeNatsAccess(folder, 4222, '/store');
  expect(statSync(configFile).mode & 0o777).toBe(0o600);
});

test('a spoilt URL file is written again', () => {
  writeFileSync(join(folder, 'nats.url'), 'nonsense');
  expect(passwordIn(writeNatsAccess(folder, 4222, '/store').urlFile)).toMatch(/^[\w-]{32}$/);
});

test('the servers of a cluster know each other and their clients know all, with one password', () => {
  const ports = [1, 2, 3].map((number) => ({ client: 4220 + number, route: 6220 + number }));
  const { configFiles, urlFile, addresses } = writeNatsClusterAccess(folder, ports);
  const urls = readFileSync(urlFile, 'utf8').trim().split(',');
  const passwords = new Set(urls.map((url) => new URL(url).password));
  expect(passwords.size).toBe(1);
  expect(addresses).toEqual(['127.0.0.1:4221', '127.0.0.1:4222', '127.0.0.1:4223']);
  for (const [index, file] of configFiles.entries()) {
    const text = readFileSync(file, 'utf8');
    expect(text).toContain(`server_name: nats-${index + 1}`);
    for (const { route } of ports) expect(text).toContain(`@127.0.0.1:${route}"`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  }
  expect(writeNatsClusterAccess(folder, ports).urlFile).toBe(urlFile);
  expect(passwords).toContain(new URL(readFileSync(urlFile, 'utf8').split(',')[0] ?? '').password);
});
