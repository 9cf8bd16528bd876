import { expect, test } from 'vitest';
import { formToken, formTokenField, isFormToken, isFromOwnPage } from './csrf.ts';

const requestWith = (headers: Record<string, string>) =>
  new Request('http://svc.example:8080/', {
    method: 'POST',
    headers: { host: 'svc.example:8080', ...headers },
  });

test.each([
  ['the same origin', { 'sec-fetch-site': 'same-origin' }, true],
  ['another site', { 'sec-fetch-site': 'cross-site' }, false],
  ['a sub-domain', { 'sec-fetch-site': 'same-site' }, false],
  ['an address bar', { 'sec-fetch-site': 'none' }, false],
  ['an older browser, the same origin', { origin: 'http://svc.example:8080' }, true],
  ['an older browser, behind a proxy with TLS', { origin: 'https://svc.example:8080' }, true],
  ['an older browser, another port', { origin: 'http://svc.example:9090' }, false],
  ['an older browser, another site', { origin: 'https://evil.example' }, false],
  ['a frame without an origin', { origin: 'null' }, false],
  ['a program', {}, true],
])('a form from %s is from our own page: %j', (_, headers, expected) => {
  expect(isFromOwnPage(requestWith(headers))).toBe(expected);
});

test('the token of one session is not valid in another', () => {
  const token = formToken('one');
  expect(isFormToken('one', token)).toBe(true);
  expect(isFormToken('other', token)).toBe(false);
  expect(isFormToken('one', '')).toBe(false);
  expect(isFormToken('one', `${token}x`)).toBe(false);
  expect(String(formTokenField('one'))).toContain(`value="${token}"`);
});
