import { describe, expect, test } from 'vitest';
import { parseNoProxy } from './no-proxy.ts';
import { parseProxy, proxyFor } from './proxy.ts';

describe('the address of a proxy', () => {
  test.each([
    ['http://proxy.example:3128', { host: 'proxy.example', port: 3_128, authorization: null }],
    ['http://proxy.example/', { host: 'proxy.example', port: 80, authorization: null }],
    [
      'http://user:p%40ss@[2001:db8::1]:3128',
      { host: '2001:db8::1', port: 3_128, authorization: `Basic ${btoa('user:p@ss')}` },
    ],
  ])('%s', (text, proxy) => {
    const { authorization, ...address } = parseProxy(text);
    expect({ ...address, authorization: authorization?.reveal() ?? null }).toEqual(proxy);
  });

  test.each([
    'proxy:3128',
    'https://secret.example',
    'socks5://secret.example',
    'http://',
    'http://secret/a',
    'secret',
  ])('%s is refused and not repeated', (text) => {
    expect(() => parseProxy(text)).toThrow(/must /);
    expect(() => parseProxy(text)).not.toThrow(/secret/);
  });
});

test('what goes by the proxy', () => {
  const proxy = parseProxy('http://proxy.example:3128');
  const choose = proxyFor(proxy, parseNoProxy('example.com'));
  expect(choose?.('example.com', 443)).toBe(undefined);
  expect(choose?.('example.org', 443)).toBe(proxy);
  expect(proxyFor(undefined, parseNoProxy(''))).toBe(undefined);
});
