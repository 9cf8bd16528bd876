import { expect, test } from 'vitest';
import { baseUrlProblem, isReadableOnTheWay, tokenProblem } from './client-settings.ts';

test.each([
  ['http://127.0.0.1:8080', null],
  ['https://svc.example.com/', null],
  ['https://example.com/svc/', null],
  ['http://[::1]:8080', null],
  ['', /must be a URL/],
  ['svc.example.com', /must be a URL/],
  ['localhost:8080', /must be a URL/],
  ['ftp://svc.example.com', /must be a URL/],
  ['http:/svc.example.com', /must be a URL/],
  ['https://a:b@svc.example.com', /user name or password/],
  ['https://svc.example.com?x=1', /query/],
  ['https://svc.example.com/#a', /fragment/],
  [' https://svc.example.com', /blanks/],
])('base URL %j', (text, expected) => {
  const problem = baseUrlProblem(text);
  if (expected === null) expect(problem).toBeNull();
  else expect(problem).toMatch(expected);
});

test.each([
  ['svc_0123456789', null],
  ['', /is empty/],
  ['sec ret', /a blank/],
  ['secret\n', /a line break/],
  ['sécret', /ASCII/],
  ['s'.repeat(1_025), /1024/],
])('token %j', (token, expected) => {
  const problem = tokenProblem(token);
  if (expected === null) expect(problem).toBeNull();
  else {
    expect(problem).toMatch(expected);
    expect(problem).not.toContain(token === '' ? '\0' : token);
  }
});

test.each([
  ['http://svc.example.com', true],
  ['http://10.0.0.1:8080', true],
  ['http://127.0.0.1.example.com', true],
  ['https://svc.example.com', false],
  ['http://localhost:8080', false],
  ['http://127.0.0.1:8080', false],
  ['http://[::1]:8080/', false],
])('a token sent to %s can be read on the way: %j', (baseUrl, expected) => {
  expect(isReadableOnTheWay(baseUrl)).toBe(expected);
});
