import { expect, test } from 'vitest';
import { parseNoProxy } from './no-proxy.ts';

test.each([
  ['example.com', 'example.com', 443, true],
  ['example.com', 'EXAMPLE.com.', 443, true],
  ['example.com', 'a.b.example.com', 443, true],
  ['example.com', 'notexample.com', 443, false],
  ['.example.com', 'a.example.com', 443, true],
  ['*.example.com', 'a.example.com', 443, true],
  ['example.com:8080', 'example.com', 8080, true],
  ['example.com:8080', 'example.com', 443, false],
  ['other.test, example.com ,', 'example.com', 443, true],
  ['192.0.2.1', '192.0.2.1', 443, true],
  ['192.0.2.1:80', '192.0.2.1', 443, false],
  ['192.0.2.0/24', '192.0.2.77', 443, true],
  ['192.0.2.0/24', '192.0.3.1', 443, false],
  ['192.0.2.0/24', 'example.com', 443, false],
  ['2001:db8::1', '2001:db8:0::1', 443, true],
  ['[2001:db8::1]:443', '2001:db8::1', 443, true],
  ['2001:db8::/32', '2001:db8:1::', 443, true],
  ['*', 'example.com', 443, true],
  ['', 'example.com', 443, false],
  ['10.0.0.0/99, ://, [, a b:c', 'example.com', 443, false],
  ['', 'localhost', 80, true],
  ['', 'app.localhost', 80, true],
  ['', '127.0.0.7', 80, true],
  ['', '::1', 80, true],
  ['', '::ffff:7f00:1', 80, true],
  ['', '0.0.0.0', 80, true],
  ['', '::', 80, true],
])('NO_PROXY=%j: %s:%i goes directly: %j', (text, host, port, goesDirectly) => {
  expect(parseNoProxy(text)(host, port)).toBe(goesDirectly);
});
