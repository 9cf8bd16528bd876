import { Secret } from '@svc/shared/secret.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pageUrl, recipientOfToken, tokenUrl, unsubscribeToken } from './mail-links.ts';

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

const key = new Secret(new Uint8Array(32).fill(7));
const otherKey = new Secret(new Uint8Array(32).fill(8));
const id = fc.integer({ min: 1, max: 1e14 });

test('a token names its recipient, only under its key', () => {
  fc.assert(
    fc.property(id, (recipientId) => {
      const token = unsubscribeToken(key, recipientId);
      expect(recipientOfToken(key, token)).toBe(recipientId);
      expect(recipientOfToken(otherKey, token)).toBeNull();
    }),
  );
});

test('no other text names a recipient', () => {
  fc.assert(
    fc.property(id, id, fc.string(), (one, other, text) => {
      fc.pre(one !== other);
      const proof = unsubscribeToken(key, one).split('-').slice(1).join('-');
      expect(recipientOfToken(key, `${other}-${proof}`)).toBeNull();
      expect(recipientOfToken(key, text)).toBeNull();
      expect(recipientOfToken(key, `${unsubscribeToken(key, one)}${text}x`)).toBeNull();
    }),
  );
});
