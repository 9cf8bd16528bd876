import { describe, expect, test } from 'vitest';
import { Cookies } from './cookies.ts';

const url = (text: string): URL => new URL(text);

function sent(lines: readonly string[], to: string, from = 'https://shop.example/account/login'): string[] {
  const cookies = new Cookies();
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
    [
      'not to a child, even of its domain',
      'a=b; Path=/; Domain=shop.example',
      'https://www.shop.example/',
      [],
    ],
    ['to its host with its domain', 'a=b; Path=/; Domain=.SHOP.example', 'https://shop.example/', ['a=b']],
    ['not when its domain is another', 'a=b; Path=/; Domain=pay.example', 'https://shop.example/', []],
    [
      'not when it is over',
      'a=b; Path=/; Max-Age=0; Expires=Fri, 31 Dec 2066 23:59:59 GMT',
      'https://shop.example/',
      [],
    ],
  ])('%s', (_name, line, to, expected) => {
    expect(sent([line], to)).toEqual(expected);
  });
});

test('those of longer paths come first, and of equal ones the older', () => {
  const lines = ['a=1; Path=/', 'b=2; Path=/account', 'c=3; Path=/'];
  expect(sent(lines, 'https://shop.example/account')).toEqual(['b=2', 'a=1', 'c=3']);
});

test('a plain answer sets no secure cookie', () => {
  expect(sent(['a=b; Secure; Path=/'], 'https://shop.example/', 'http://shop.example/')).toEqual([]);
});

test('one with the same name and path takes the place of the older', () => {
  const cookies = new Cookies();
  cookies.store(url('https://shop.example/'), ['a=1', 'a=2; Path=/x', 'a=3']);
  expect(cookies.for(url('https://shop.example/x'))).toEqual(['a=2', 'a=3']);
});

test('no more than fifty are kept, and no more than 8,000 bytes sent', () => {
  const lines = Array.from({ length: 60 }, (_, index) => `n${index}=v; Path=/`);
  const kept = sent(lines, 'https://shop.example/');
  expect(kept).toHaveLength(50);
  expect(kept[0]).toBe('n10=v');
  const large = Array.from({ length: 5 }, (_, index) => `n${index}=${'v'.repeat(3_000)}; Path=/`);
  expect(sent(large, 'https://shop.example/')).toHaveLength(2);
});

test('what cannot be sent again byte by byte is not kept', () => {
  expect(sent(['a=\xff; Path=/', 'b=\xc3\xa9; Path=/', 'c=\x07; Path=/'], 'https://shop.example/')).toEqual([
    'b=é',
  ]);
});
