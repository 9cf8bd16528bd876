import { expect, test } from 'vitest';
import { cookieOf, removeCookie, setCookie } from './cookies.ts';

const requestWith = (cookie: string) => new Request('http://svc.example/', { headers: { cookie } });

test('under TLS the cookie is bound to its host, and only sent with TLS', () => {
  expect(setCookie({ isSecure: true }, 'svc-session', 'abc', 60)).toBe(
    '__Host-svc-session=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure',
  );
});

test('without TLS it has no prefix, which browsers would refuse', () => {
  expect(setCookie({ isSecure: false }, 'svc-session', 'abc', 60)).toBe(
    'svc-session=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=60',
  );
  expect(removeCookie({ isSecure: false }, 'svc-session')).toContain(
    '=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0',
  );
});

test('a value cannot add attributes', () => {
  expect(() => setCookie({ isSecure: true }, 'x', 'a; Domain=evil.example', 60)).toThrow(TypeError);
});

test.each([
  ['__Host-svc-session=abc', true, 'abc'],
  ['a=b; __Host-svc-session=abc; c=d', true, 'abc'],
  // A cookie that was set over a plain connection or by another host is not read under TLS.
  ['svc-session=abc', true, null],
  ['__Host-svc-session=abc', false, null],
  ['svc-session=abc', false, 'abc'],
  ['svc-session=abc; svc-session=planted', false, null],
  ['', true, null],
])('of %j, with TLS %j, it is %j', (header, isSecure, expected) => {
  expect(cookieOf({ request: requestWith(header), isSecure }, 'svc-session')).toBe(expected);
});
