import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText } from '../../../../test/support/any-text.ts';
import { maskedExcerpt } from './mask.ts';

test.each([
  ['whole', 'key=abcd1234!', ['abcd1234!'], 'key=********'],
  ['the token of a scheme', 'got tokentoken', ['Bearer tokentoken'], 'got ********'],
  ['URL-encoded', 'a=p%20q%2Fr', ['p q/r'], 'a=********'],
  ['JSON-escaped', '{"a":"x\\"y\\"z"}', ['x"y"z'], '{"a":"********"}'],
  ['JSON-escaped by PHP', '"a\\/b\\/cd"', ['a/b/cd'], '"********"'],
  ['JSON-escaped by Go', '"a\\u0026b\\u003ccd=\'"', ["a&b<cd='"], '"********"'],
  ['JSON-escaped by Gson', '"a\\u0026b\\u003ccd\\u003d\\u0027"', ["a&b<cd='"], '"********"'],
  ['escaped for HTML', '<p>a&amp;b&lt;c&quot;d&#39;</p>', ['a&b<c"d\''], '<p>********</p>'],
  ['escaped for HTML by Python', '<p>a&amp;b&lt;c&quot;d&#x27;</p>', ['a&b<c"d\''], '<p>********</p>'],
  ['the token of a scheme, escaped', 'got "tok\\/entok"', ['Bearer tok/entok'], 'got "********"'],
  ['the longer of two that overlap', 'secret-secret-1', ['secret', 'secret-secret-1'], '********'],
  ['not what is too short to be one', 'on time', ['on', 'ti'], 'on time'],
])('masked: %s', (_name, text, secrets, expected) => {
  expect(maskedExcerpt(text, secrets, 900)).toBe(expected);
});

test('of two secrets that overlap nothing is left', () => {
  expect(maskedExcerpt('a 12345678 b', ['12345', '345678'], 900)).toBe('a ******** b');
});

test('white space and control characters between the words of a secret do not hide it from the search', () => {
  expect(maskedExcerpt('got Bearer\r\n\t tok en', ['Bearer  tok en'], 900)).toBe('got ********');
});

/** Makes secrets from characters that only the secrets of this test contain. */
const secretOf = (bounds: { minLength: number; maxLength: number }) =>
  fc.string({ ...bounds, unit: fc.constantFrom('X', 'Y', 'Z', '/', '"', '<', '&', '=', 'ö', '😀') });
const otherText = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n', '…', '.') });
const OF_SECRETS = /[XYZ/"<&=ö😀]|\p{Surrogate}/u;

test('nothing of a secret is shown, wherever the excerpt ends', () => {
  fc.assert(
    fc.property(
      otherText,
      secretOf({ minLength: 4, maxLength: 60 }),
      otherText,
      fc.integer({ min: 4, max: 90 }),
      (before, secret, after, bytes) => {
        const shown = maskedExcerpt(`${before}${secret}${after}${secret}`, [secret], bytes);
        expect(shown).not.toMatch(OF_SECRETS);
        expect(Buffer.byteLength(shown)).toBeLessThanOrEqual(bytes);
      },
    ),
  );
});

test('of a text that broke off within a secret, nothing of the secret is shown', () => {
  fc.assert(
    fc.property(
      otherText,
      secretOf({ minLength: 8, maxLength: 60 }),
      fc.nat({ max: 50 }),
      (before, secret, cut) => {
        const broken = Array.from(secret).slice(0, Math.max(4, cut)).join('');
        expect(maskedExcerpt(`${before}${broken}`, [secret], 900, true)).not.toMatch(OF_SECRETS);
      },
    ),
  );
  expect(maskedExcerpt('no such host', ['hostname'], 900)).toBe('no such host');
});

test('text that would take too long to search is not shown', () => {
  const secrets = Array.from({ length: 20_000 }, (_, index) => `aaaaaaaa${index}-`);
  const shown = maskedExcerpt(`${'a'.repeat(60_000)} the end`, secrets, 900);
  expect(shown).toMatch(/^a*\*+$/);
});

test('an excerpt is one bounded line, and the beginning of the text', () => {
  fc.assert(
    fc.property(anyText({ maxLength: 200 }), fc.integer({ min: 4, max: 50 }), (text, bytes) => {
      const line = maskedExcerpt(text, [], bytes);
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(bytes);
      expect(line).not.toMatch(/[\u0000-\u001f\u007f]/);
      expect(line.isWellFormed()).toBe(true);
    }),
  );
  expect(maskedExcerpt('short', [], 5)).toBe('short');
  expect(maskedExcerpt('longer', [], 5)).toBe('lo…');
});
