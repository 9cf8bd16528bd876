import fc from 'fast-check';
import { expect, test } from 'vitest';
import { landingPath } from './access-pages.ts';

test.each([
  ['/status/main', '', '/status/main'],
  ['/status/main', '/feed.atom', '/status/main/feed.atom'],
  ['/status/main', '/days/7', '/status/main/days/7'],
  ['', '/api/v2/summary.json', '/api/v2/summary.json'],
  ['', '', '/'],
  ['', '//evil.example', '/'],
  ['', '/\\evil.example', '/'],
  ['', '/%2fevil.example', '/'],
  ['', 'https://evil.example', '/'],
  ['', '/javascript:alert(1)', '/'],
  ['/status/main', '/../other', '/status/main'],
  ['/status/main', '/..', '/status/main'],
  ['/status/main', '/a?b', '/status/main'],
  ['/status/main', '/access', '/status/main'],
])('from %j to %j: %j', (path, asked, expected) => {
  expect(landingPath(path, asked)).toBe(expected);
});

const path = fc
  .array(fc.constantFrom('/', '//', '..', '.', '\\', '%2f', ':', '@', '?', 'a', 'access', 'feed.atom'))
  .map((parts) => parts.join(''));

test('never leaves the page', () => {
  fc.assert(
    fc.property(fc.constantFrom('', '/status/main'), fc.oneof(fc.string(), path), (page, asked) => {
      const url = new URL(landingPath(page, asked), 'https://status.example.org');
      expect(url.origin).toBe('https://status.example.org');
      expect(`${url.pathname}/`.startsWith(`${page}/`)).toBe(true);
    }),
  );
});
