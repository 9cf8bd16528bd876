import { createHmac, randomBytes } from 'node:crypto';
import { Secret } from '@svc/shared/secret.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JobTokens } from './job-tokens.ts';

const key = randomBytes(32);
const tokens = new JobTokens(new Secret(key));

test('a token is the HMAC-SHA256 of monitor, region and slot', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1 }), fc.nat({ max: Number.MAX_SAFE_INTEGER }), (monitor, slot) => {
      const expected = createHmac('sha256', key).update(`${monitor} hosta-fra ${slot}`).digest('base64url');
      expect(tokens.tokenOf(monitor, 'hosta-fra', slot)).toBe(expected.slice(0, 22));
    }),
  );
});

test('the longest message fits', () => {
  const { MAX_SAFE_INTEGER: most } = Number;
  const expected = createHmac('sha256', key)
    .update(`${most} hostc-asia-southeast1 ${most}`)
    .digest('base64url');
  expect(tokens.tokenOf(most, 'hostc-asia-southeast1', most)).toBe(expected.slice(0, 22));
});

test('it is valid for its own job only', () => {
  const token = tokens.tokenOf(7, 'hosta-fra', 1_000);
  expect(tokens.isValid(token, 7, 'hosta-fra', 1_000)).toBe(true);
  expect(tokens.isValid(token, 8, 'hosta-fra', 1_000)).toBe(false);
  expect(tokens.isValid(token, 7, 'hostb-fra', 1_000)).toBe(false);
  expect(tokens.isValid(token, 7, 'hosta-fra', 1_001)).toBe(false);
  expect(new JobTokens(new Secret(randomBytes(32))).isValid(token, 7, 'hosta-fra', 1_000)).toBe(false);
});

test.each(['', 'short', 'x'.repeat(22), 'x'.repeat(64), 'ü'.repeat(22), '\u{1f600}'.repeat(11)])(
  'no token: %j',
  (text) => {
    expect(tokens.isValid(text, 7, 'hosta-fra', 1_000)).toBe(false);
  },
);

test('a key of another length is refused', () => {
  expect(() => new JobTokens(new Secret(randomBytes(16)))).toThrow('32 bytes');
});
