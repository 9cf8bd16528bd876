import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { httpUrlWithUserInfo } from './resources/texts.ts';
import {
  basicAuthorization,
  credentialsIn,
  hidesUserInfo,
  urlSecrets,
  userInfo,
  userInfoApart,
  userInfoJoined,
  withoutUserInfo,
} from './url-secrets.ts';

test.each([
  ['https://a.example/x', 'https://a.example/x', 'https://a.example/x'],
  ['https://a.example/x?key=1#y', 'https://a.example/x?****#y', 'https://a.example/x#y'],
  ['https://a.example?key=1?2', 'https://a.example?****', 'https://a.example'],
  ['https://a:b@c.example/?d', 'https://****@c.example/?****', 'https://c.example/'],
  ['https://a.example/?', 'https://a.example/?', 'https://a.example/?'],
  ['https://a.example/#?a', 'https://a.example/#?a', 'https://a.example/#?a'],
])('%s is shown as %s', (url, shown, left) => {
  expect(urlSecrets.replaced(url, '****')).toBe(shown);
  expect(urlSecrets.left(url)).toBe(left);
  expect(urlSecrets.isIn(url)).toBe(shown !== url);
  expect(urlSecrets.replaced(shown, '****')).toBe(shown);
});

test.each([
  ['https://a.example/?****', true],
  ['https://****@a.example/?new=1', true],
  ['https://a:b@a.example/?****', true],
  ['https://a:b@a.example/?c', false],
  ['https://a.example/****', false],
])('whether a client sends a mask back in %s: %s', (url, expected) => {
  expect(urlSecrets.isMasked?.(url, '****')).toBe(expected);
});

describe('the user information of a URL', () => {
  test.each([
    ['https://user:secret@example.com', 'https://example.com'],
    ['HTTPS://user:secret@example.com/a?b#c', 'HTTPS://example.com/a?b#c'],
    ['http://user@[::1]:8080', 'http://[::1]:8080'],
    ['http://:secret@example.com/', 'http://example.com/'],
    ['http://a@b:c@d@example.com/e@f', 'http://example.com/e@f'],
    ['http://user:sec%40ret@example.com', 'http://example.com'],
  ])('%s is shown as %s', (url, shown) => {
    expect(httpUrlWithUserInfo(url)).toBe(null);
    expect(withoutUserInfo(url)).toBe(shown);
    expect(userInfo.replaced(url, '***')).toBe(shown.replace('//', '//***@'));
  });

  test.each([
    'https://example.com',
    'https://example.com/a@b',
    'https://example.com?a@b',
    'https://example.com#a@b',
    'https://@example.com',
    'https://:@example.com',
  ])('%s has none', (url) => {
    expect(httpUrlWithUserInfo(url)).toBe(null);
    expect(userInfo.isIn(url)).toBe(false);
    expect(userInfo.replaced(url, '***')).toBe(url);
  });

  test.each(['https:///user:secret@example.com', 'https://\\user:secret@example.com'])(
    '%s, where the parser finds some that the text does not show, is refused',
    (url) => {
      expect(httpUrlWithUserInfo(url)).toBe(
        'is not a valid URL: there are too many slashes after the scheme',
      );
    },
  );

  const text = fc.string({ unit: fc.constantFrom(...'ab:@/?#\\%[]~.1'), maxLength: 12 });
  test('is gone from whatever is accepted, and nothing else is', () => {
    fc.assert(
      fc.property(fc.constantFrom('http://', 'https://'), text, text, (scheme, before, after) => {
        const url = `${scheme}${before}example.com${after}`;
        fc.pre(httpUrlWithUserInfo(url) === null);
        const whole = new URL(url);
        whole.username = '';
        whole.password = '';
        expect(new URL(withoutUserInfo(url)).href).toBe(whole.href);
      }),
      { numRuns: 500 },
    );
  });
});

describe('an answer that leaves out the user information', () => {
  test.each([
    ['https://********@example.com/a', { url: 'https://example.com/a', url_user_information: '********' }],
    ['HTTP://********@a?********', { url: 'HTTP://a?********', url_user_information: '********' }],
    ['https://user:secret@example.com/', { url_user_information: null }],
    ['https://example.com/********@', { url_user_information: null }],
  ])('%s: %j', (url, apart) => {
    const monitor = { name: 'a', url };
    expect(userInfoApart(monitor)).toEqual({ name: 'a', url, ...apart });
    expect(userInfoJoined(userInfoApart(monitor))).toMatchObject(monitor);
    expect(hidesUserInfo(userInfoApart(monitor))).toBe('url' in apart);
  });

  test('hides nothing when the client has written the user information again', () => {
    const monitor = { url: 'https://user:secret@a/', url_user_information: '********' };
    expect(hidesUserInfo(monitor)).toBe(false);
    expect(userInfoJoined(monitor)).toBe(monitor);
  });
});

test.each([
  ['http://user:secret@a', 'user:secret'],
  ['http://user@a', 'user:'],
  ['http://us%C3%A9r:p%40ss%3A@a', 'usér:p@ss:'],
  ['http://user:100%@a', 'user:100%'],
])('%s is sent as Basic credentials', (url, credentials) => {
  const found = credentialsIn(new URL(url));
  expect(found).not.toBe(null);
  expect(found && basicAuthorization(found)).toBe(`Basic ${Buffer.from(credentials).toString('base64')}`);
});

test('a URL without user information has no credentials', () => {
  expect(credentialsIn(new URL('http://a'))).toBe(null);
});
