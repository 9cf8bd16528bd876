import { Secret } from '@svc/shared/secret.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { recipientOfToken, unsubscribeToken } from './unsubscribing.ts';

const key = new Secret(new Uint8Array(32).fill(7));
const otherKey = new Secret(new Uint8Array(32).fill(8));
const id = fc.integer({ min: 1, max: 1e14 });

test('a token names its recipient, under its key only', () => {
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
