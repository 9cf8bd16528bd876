import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { chooseAddress } from './address.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-address-'));
afterAll(() => rmSync(root, { recursive: true }));

const PROTECTED = { hasClientCertificate: true, platform: 'linux', temporary: root } as const;

test.each([true, false])('a socket in a directory of its own that others cannot enter (TLS: %s)', (isTls) => {
  const address = chooseAddress({ ...PROTECTED, hasClientCertificate: isTls });
  const path = address.address(0);
  expect(address).toMatchObject({ network: 'unix', target: `unix:${path}` });
  expect(statSync(dirname(path)).mode & 0o777).toBe(0o700);

  writeFileSync(path, '');
  address.remove();
  address.remove();
  expect(existsSync(dirname(path))).toBe(false);
});

const TOO_LONG = join(root, 'x'.repeat(80));
const MISSING = join(root, 'missing');

test.each([
  ['on Windows', 'win32', root, '--debug and TF_DISABLE_PLUGIN_TLS do not work on Windows'],
  ['where the path would be too long', 'linux', TOO_LONG, `set TMPDIR to a shorter folder than ${TOO_LONG}`],
  ['where no directory can be made', 'linux', MISSING, `set TMPDIR to a writable folder; ${MISSING}`],
] as const)('%s a port, but only with a client certificate', (_, platform, temporary, advice) => {
  const address = chooseAddress({ hasClientCertificate: true, platform, temporary });
  expect(address).toMatchObject({ network: 'tcp', target: '127.0.0.1:0' });
  expect(address.address(4321)).toBe('127.0.0.1:4321');
  expect(() => chooseAddress({ hasClientCertificate: false, platform, temporary })).toThrow(advice);
});

test.each([
  ['linux', 107],
  ['darwin', 103],
] as const)('on %s a path has at most %d bytes', (platform, maximum) => {
  const folder = (bytes: number) => {
    const path = join(root, 'y'.repeat(bytes - join(root, '', 'svc-plugin-XXXXXX', 'socket').length - 1));
    mkdirSync(path, { recursive: true });
    return path;
  };
  const longest = chooseAddress({ ...PROTECTED, platform, temporary: folder(maximum) });
  expect(longest.address(0)).toHaveLength(maximum);
  longest.remove();
  expect(chooseAddress({ ...PROTECTED, platform, temporary: folder(maximum + 1) }).network).toBe('tcp');
});
