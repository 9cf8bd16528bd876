import { expect, test } from 'vitest';
import { httpCheck, tcpCheck } from '../../../../test/support/scripted-probe.ts';
import { hostOfCheck } from './host-of-check.ts';
import { isLoopbackHost, isOwnAddress } from './own-addresses.ts';

test.each([
  ['https://Example.com', 'example.com'],
  ['http://example.com:8080/a:b?c', 'example.com'],
  ['http://example.com?at=me@home', 'example.com'],
  ['http://me:secret@example.com/', 'example.com'],
  ['http://[fd00::1]:80/', 'fd00::1'],
])('the host of %s is %s', (url, host) => {
  expect(hostOfCheck(httpCheck(url))).toBe(host);
});

test('the host of a check of another kind', () => {
  expect(hostOfCheck(tcpCheck({ uri: 'Db.example.com:5432' }))).toBe('db.example.com');
  expect(hostOfCheck(tcpCheck({ uri: '[fd00::1]:22' }))).toBe('fd00::1');
  const dns = {
    type: 'dns',
    uri: 'Example.com',
    record_assertions: [],
    timeout: 1,
    retry: 0,
    degraded_at: 0,
  } as const;
  expect(hostOfCheck({ ...dns, record_assertions: [] })).toBe('example.com');
});

test('loopback hosts and own addresses', () => {
  for (const host of ['127.0.0.1', '127.9.9.9', '::1', 'localhost', 'a.localhost']) {
    expect(isLoopbackHost(host)).toBe(true);
  }
  for (const host of ['192.0.2.1', 'example.com', 'localhost.example.com', '']) {
    expect(isLoopbackHost(host)).toBe(false);
  }
  expect(isOwnAddress('127.0.0.53')).toBe(true);
  expect(isOwnAddress('192.0.2.1')).toBe(false);
  expect(isOwnAddress('no address')).toBe(false);
});
