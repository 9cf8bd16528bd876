import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseHostPort } from './host-port.ts';

test.each([
  ['example.com:443', 'example.com', 443],
  ['127.0.0.1:1', '127.0.0.1', 1],
  ['[::1]:65535', '::1', 65_535],
  ['[fe80::1%eth0]:22', 'fe80::1%eth0', 22],
  ['bücher.example:80', 'bücher.example', 80],
  ['db:05432', 'db', 5_432],
])('%s', (text, host, port) => {
  expect(parseHostPort(text)).toEqual({ host, port });
});

test.each([
  '',
  ':80',
  'example.com',
  'example.com:',
  'example.com:0',
  'example.com:65536',
  'example.com:8o',
  'example.com:-1',
  '::1:80',
  '[::1]',
  '[::1]80',
  '[]:80',
  '[127.0.0.1]:80',
  '::1]:80',
  'http://example.com:80',
  'exa mple:80',
])('"%s" is no host and port', (text) => {
  expect(parseHostPort(text)).toBeNull();
});

test('what is read is a host and a port', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.tuple(fc.string(), fc.nat()).map(([h, p]) => `${h}:${p}`),
      ),
      (text) => {
        const found = parseHostPort(text);
        if (found === null) return;
        expect(found.host).not.toBe('');
        expect(found.port).toBeGreaterThanOrEqual(1);
        expect(found.port).toBeLessThanOrEqual(65_535);
      },
    ),
  );
});
