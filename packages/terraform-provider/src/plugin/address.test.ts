import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { chooseAddress } from './address.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-address-'));
afterAll(() => rmSync(root, { recursive: true }));

test('a socket in a directory of its own that others cannot enter', () => {
  const address = chooseAddress('linux', root);
  const path = address.address(0);
  expect(address).toMatchObject({ network: 'unix', target: `unix:${path}` });
  expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);

  writeFileSync(path, '');
  address.remove();
  address.remove();
  expect(existsSync(dirname(path))).toBe(false);
});

test.each([
  ['on Windows', 'win32', root],
  ['where the path would be too long', 'linux', join(root, 'x'.repeat(80))],
  ['where no directory can be made', 'linux', join(root, 'missing')],
] as const)('a port %s', (_, platform, temporary) => {
  const address = chooseAddress(platform, temporary);
  expect(address).toMatchObject({ network: 'tcp', target: '127.0.0.1:0' });
  expect(address.address(4321)).toBe('127.0.0.1:4321');
});
