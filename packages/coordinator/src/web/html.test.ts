import { describe, expect, test } from 'vitest';
import { html, localPath, raw, safeHref } from './html.ts';

test('inserted texts are escaped, HTML is not, and absent values are left out', () => {
  const text = `<b>&"'`;
  expect(html`<p title="${text}">${text}</p>`.toString()).toBe(
    '<p title="&lt;b&gt;&amp;&quot;&#39;">&lt;b&gt;&amp;&quot;&#39;</p>',
  );
  expect(html`${[html`<i>1</i>`, raw('<i>2</i>')]}${null}${undefined}${false}${3}`.toString()).toBe(
    '<i>1</i><i>2</i>3',
  );
});

test('a promise cannot be inserted', () => {
  expect(() => html`${Promise.resolve('x')}`).toThrow(TypeError);
});

test.each([
  ['https://example.com/a b', 'https://example.com/a%20b'],
  ['HTTP://example.com', 'http://example.com/'],
  ['mailto:ops@example.com', 'mailto:ops@example.com'],
  ['javascript:alert(1)', null],
  [' JaVaScRiPt:alert(1)', null],
  ['java\nscript:alert(1)', null],
  ['data:text/html,x', null],
  ['vbscript:x', null],
  ['//example.com', null],
  ['/path', null],
  ['', null],
])('a link to %j becomes %j', (url, expected) => {
  expect(safeHref(url)).toBe(expected);
});

describe('a path for a redirect', () => {
  test.each(['/', '/monitors/12', '/monitors?status=error&page=2', '/a#b'])('%s stays', (path) => {
    expect(localPath(path)).toBe(path);
  });

  test.each([
    null,
    '',
    'monitors',
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example/',
    '/\t/evil.example/',
    '/\n//evil.example',
    '/a\\b',
    ' /a',
    'javascript:alert(1)',
    // After its dots are resolved, each of these paths begins with two slashes.
    '/.//evil.example/',
    '/a/..//evil.example/',
    '/..//evil.example/',
    '/%2e//evil.example/',
    '/a/%2E%2e//evil.example/',
    '/.///evil.example/',
  ])('%j leads elsewhere', (path) => {
    expect(localPath(path)).toBeNull();
  });
});
