import { expect, test } from 'vitest';
import { isExpectedHost } from './host-check.ts';

test.each([
  ['localhost:8080', true],
  ['LOCALHOST', true],
  ['svc.localhost', true],
  ['127.0.0.1:8080', true],
  ['127.8.0.1', true],
  ['[::1]:8080', true],
  ['svc.example.com', true],
  ['SVC.example.com:443', true],
  ['svc.example.com.', true],
  ['localhost.:8080', true],
  [undefined, true],
  ['other.example.com', false],
  ['svc.example.com..', false],
  ['127.0.0.1.example.com', false],
  ['localhost.example.com', false],
  ['10.0.0.1', false],
  ['a b', false],
  ['', false],
])('a request to %j on loopback is ours: %j', (host, expected) => {
  expect(isExpectedHost(host, 'https://svc.example.com')).toBe(expected);
});
