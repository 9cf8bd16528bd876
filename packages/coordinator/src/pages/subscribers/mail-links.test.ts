import { expect, test } from 'vitest';
import { pageUrl, tokenUrl } from './mail-links.ts';

const named = { slug: 'main', domain: null };
const own = { slug: 'main', domain: 'status.example.org' };

test.each([
  [named, 'https://svc.example.com', '', 'https://svc.example.com/status/main'],
  [named, 'https://svc.example.com/', '/access', 'https://svc.example.com/status/main/access'],
  [named, 'https://example.com/monitoring', '', 'https://example.com/monitoring/status/main'],
  [own, 'https://svc.example.com', '', 'https://status.example.org/'],
  [own, 'http://127.0.0.1:8080', '/access', 'http://status.example.org:8080/access'],
])('%o of %s, path %j: %s', (page, publicUrl, path, url) => {
  expect(pageUrl(page, publicUrl, path)).toBe(url);
});

test('a token stands in the query', () => {
  expect(tokenUrl(named, 'https://svc.example.com', '/unsubscribe', '7-abc')).toBe(
    'https://svc.example.com/status/main/unsubscribe?token=7-abc',
  );
});
