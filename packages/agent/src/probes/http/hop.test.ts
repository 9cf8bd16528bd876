import type { HttpCheck } from '@svc/shared/messages/check.ts';
import { describe, expect, test } from 'vitest';
import { httpCheck } from '../../../../../test/support/http-check.ts';
import { firstHop, type Hop, hostOf, portOf, redirectedHop, serverNameOf } from './hop.ts';

function hop(given: Partial<HttpCheck> & { url: string }): Hop {
  const first = firstHop(httpCheck(given));
  if (typeof first === 'string') throw new Error(first);
  return first;
}

function follow(from: Hop, statusCode: number, location: string): Hop {
  const next = redirectedHop(from, statusCode, location);
  if (typeof next === 'string') throw new Error(next);
  return next;
}

describe('the method after a redirect', () => {
  test.each([
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'POST', 'GET'],
    [307, 'POST', 'POST'],
    [308, 'POST', 'POST'],
    [301, 'PUT', 'PUT'],
    [302, 'DELETE', 'DELETE'],
    [303, 'PUT', 'GET'],
    [303, 'HEAD', 'HEAD'],
    [302, 'HEAD', 'HEAD'],
    [303, 'GET', 'GET'],
  ] as const)('%i of %s is %s', (statusCode, method, expected) => {
    const from = hop({
      url: 'http://a.test/',
      method,
      body: 'x',
      headers: [{ key: 'Content-Type', value: 't' }],
    });
    const next = follow(from, statusCode, '/b');
    expect(next.method).toBe(expected);
    if (expected === method) expect(next).toMatchObject({ body: from.body, headers: from.headers });
    else expect(next).toMatchObject({ body: '', headers: [] });
  });
});

describe('the target of a redirect', () => {
  test.each([
    ['/b?c', 'http://a.test:81/b?c'],
    ['b', 'http://a.test:81/x/b'],
    ['?q', 'http://a.test:81/x/y?q'],
    ['//b.test/z', 'http://b.test/z'],
    ['https://a.test/', 'https://a.test/'],
    ['HTTP://A.test:81', 'http://a.test:81/'],
    [Buffer.from('/grüße').toString('latin1'), 'http://a.test:81/gr%C3%BC%C3%9Fe'],
    ['/gr\xfc\xdfe?\xfc', 'http://a.test:81/gr%FC%DFe?%FC'],
    [Buffer.from('http://bücher.test/').toString('latin1'), 'http://xn--bcher-kva.test/'],
  ])('%j', (location, expected) => {
    expect(follow(hop({ url: 'http://a.test:81/x/y' }), 302, location).url.href).toBe(expected);
  });
});

describe('credentials', () => {
  const headers = [
    { key: 'Authorization', value: 's' },
    { key: 'Cookie', value: 's' },
    { key: 'X-Token', value: 's' },
    { key: 'Host', value: 'inner' },
    { key: 'ACCEPT', value: 'a' },
  ];
  const from = hop({ url: 'https://user:pass@a.test/', headers });

  test('stay within the origin', () => {
    const next = follow(from, 302, '/b');
    expect(next.headers).toEqual(headers);
    expect(next).toMatchObject({ sendsUrlCredentials: true, url: { username: 'user', password: 'pass' } });
  });

  test.each(['https://b.test/', 'http://a.test/', 'https://a.test:8443/', 'https://a.test.evil/'])(
    'do not reach %s, nor what it redirects to',
    (location) => {
      const next = follow(from, 302, location);
      const back = follow(next, 302, 'https://a.test/');
      for (const { headers: kept, sendsUrlCredentials } of [next, back]) {
        expect(kept).toEqual([{ key: 'ACCEPT', value: 'a' }]);
        expect(sendsUrlCredentials).toBe(false);
      }
    },
  );

  test.each([
    ['https://other:word@a.test/b', 'other', 'word'],
    ['https://other@a.test/b', 'other', ''],
    ['https://other:word@b.test/', 'other', 'word'],
  ])('of a Location, %s, replace them, and go no further than its origin', (location, username, password) => {
    const next = follow(from, 302, location);
    expect(next).toMatchObject({ sendsUrlCredentials: true, url: { username, password } });
    expect(follow(next, 302, '/c')).toMatchObject({ sendsUrlCredentials: true, url: { username, password } });
    expect(follow(next, 302, 'https://c.test/').sendsUrlCredentials).toBe(false);
  });
});

test.each([
  ['http://a.test/', 'a.test', 80],
  ['https://a.test/', 'a.test', 443],
  ['http://[2001:db8::1]:8080/', '2001:db8::1', 8080],
  ['https://10.0.0.1:1/', '10.0.0.1', 1],
])('%s is dialled as %s port %i', (url, host, port) => {
  expect(hostOf(new URL(url))).toBe(host);
  expect(portOf(new URL(url))).toBe(port);
});

test('the name in the certificate has no trailing dot', () => {
  expect(serverNameOf('a.test.')).toBe('a.test');
  expect(serverNameOf('127.0.0.1')).toBe('127.0.0.1');
});
