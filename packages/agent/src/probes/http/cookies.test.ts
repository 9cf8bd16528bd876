import { describe, expect, test } from 'vitest';
import { type Cookies, openCookies } from './cookies.ts';

const url = (text: string): URL => new URL(text);

async function sent(
  lines: readonly string[],
  to: string,
  from = 'https://shop.example/account/login',
): Promise<string[]> {
  const cookies: Cookies = await openCookies();
  cookies.store(url(from), lines);
  return cookies.for(url(to));
}

describe('a cookie is sent', () => {
  test.each([
    ['to the directory that set it', 'a=b', 'https://shop.example/account/', ['a=b']],
    ['below it', 'a=b', 'https://shop.example/account/orders/1', ['a=b']],
    ['not above it', 'a=b', 'https://shop.example/', []],
    ['not to a path that only begins the same', 'a=b; Path=/account', 'https://shop.example/accounts', []],
    ['to its path without a slash', 'a=b; Path=/account', 'https://shop.example/account', ['a=b']],
    ['everywhere with the root as path', 'a=b; Path=/', 'https://shop.example/x', ['a=b']],
    ['to another port', 'a=b; Path=/', 'https://shop.example:8443/', ['a=b']],
    ['over plain HTTP', 'a=b; Path=/', 'http://shop.example/', ['a=b']],
    ['not over plain HTTP when it is secure', 'a=b; Path=/; Secure', 'http://shop.example/', []],
    ['not to another host', 'a=b; Path=/', 'https://other.example/', []],
    ['not to a sister', 'a=b; Path=/; Domain=example', 'https://pay.example/', []],
    ['to a child of its domain', 'a=b; Path=/; Domain=shop.example', 'https://www.shop.example/', ['a=b']],
    ['not to a child without a domain', 'a=b; Path=/', 'https://www.shop.example/', []],
    ['to its path as it was sent', 'a=b; Path=/x%20y', 'https://shop.example/x%20y/z', ['a=b']],
    ['without a name', 'a; Path=/', 'https://shop.example/', ['a']],
    ['to its host with its domain', 'a=b; Path=/; Domain=.SHOP.example', 'https://shop.example/', ['a=b']],
    ['not when its domain is another', 'a=b; Path=/; Domain=pay.example', 'https://shop.example/', []],
    [
      'not when it is over',
      'a=b; Path=/; Max-Age=0; Expires=Fri, 31 Dec 2066 23:59:59 GMT',
      'https://shop.example/',
      [],
    ],
  ])('%s', async (_name, line, to, expected) => {
    expect(await sent([line], to)).toEqual(expected);
  });
});

describe('a domain', () => {
  test.each([
    ['of sister hosts', 'sso.localhost', 'http://login.sso.localhost/', 'http://app.sso.localhost/', true],
    ['of a child and its parent', 'shop.example', 'http://www.shop.example/', 'http://shop.example/', true],
    [
      'of a name that is no suffix',
      'corp.internal',
      'http://a.corp.internal/',
      'http://b.corp.internal/',
      true,
    ],
    ['that is a public suffix', 'co.uk', 'http://a.co.uk/', 'http://b.co.uk/', false],
    ['that is a private suffix', 'github.io', 'http://a.github.io/', 'http://b.github.io/', false],
    ['that is a suffix and the host', 'github.io', 'http://github.io/', 'http://github.io/', true],
    ['of a suffix, for its children', 'github.io', 'http://github.io/', 'http://b.github.io/', false],
    ['of a name without dots', 'gateway', 'http://gateway/', 'http://gateway/', true],
    ['of localhost itself', 'localhost', 'http://localhost/', 'http://localhost/', true],
    ['that is an address', '127.0.0.1', 'http://127.0.0.1/', 'http://127.0.0.1:81/', true],
    ['that is an end of an address', '0.0.1', 'http://127.0.0.1/', 'http://127.0.0.1/', false],
  ])('%s', async (_name, domain, from, to, isSent) => {
    expect(await sent([`a=b; Path=/; Domain=${domain}`], to, from)).toEqual(isSent ? ['a=b'] : []);
  });
});

test('cookies of longer paths come first, and of equal paths the older', async () => {
  const lines = ['a=1; Path=/', 'b=2; Path=/account', 'c=3; Path=/'];
  expect(await sent(lines, 'https://shop.example/account')).toEqual(['b=2', 'a=1', 'c=3']);
});

test('a plain answer sets no secure cookie', async () => {
  expect(await sent(['a=b; Secure; Path=/'], 'https://shop.example/', 'http://shop.example/')).toEqual([]);
});

test('a cookie with the same name and path replaces the older one', async () => {
  const cookies = await openCookies();
  cookies.store(url('https://shop.example/'), ['a=1', 'a=2; Path=/x', 'a=3']);
  expect(cookies.for(url('https://shop.example/x'))).toEqual(['a=2', 'a=3']);
});

test.each([
  ['ASCII', 'v', 4_095],
  ['longer characters', '\xc3\xa9', 2_047],
])('a cookie has 4,096 bytes at most, in %s', async (_name, character, most) => {
  const sentWith = (length: number) =>
    sent([`a=${character.repeat(length)}`], 'https://shop.example/account');
  expect(await sentWith(most)).toHaveLength(1);
  expect(await sentWith(most + 1)).toEqual([]);
});

test('no more than 8,000 bytes are sent', async () => {
  const lines = Array.from({ length: 5 }, (_, index) => `n${index}=${'v'.repeat(3_000)}; Path=/`);
  expect(await sent(lines, 'https://shop.example/')).toHaveLength(2);
});

test('a cookie that cannot be sent again byte by byte is not kept', async () => {
  const lines = ['a=\xff; Path=/', 'b=\xc3\xa9; Path=/', 'c=\x07; Path=/'];
  expect(await sent(lines, 'https://shop.example/')).toEqual(['b=é']);
});
