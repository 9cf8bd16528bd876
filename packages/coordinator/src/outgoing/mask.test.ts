import fc from 'fast-check';
import { expect, test } from 'vitest';
import { excerptOf, maskSecrets } from './mask.ts';

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
  ['the longer of two that overlap', 'secret-secret-1', ['secret', 'secret-secret-1'], '********'],
  ['not what is too short to be one', 'on time', ['on', 'ti'], 'on time'],
])('masked: %s', (_name, text, secrets, expected) => {
  expect(maskSecrets(text, secrets)).toBe(expected);
});

test('no secret of four characters or more is left, wherever it stands', () => {
  const secret = fc.string({ minLength: 4, maxLength: 40 });
  fc.assert(
    fc.property(fc.string(), secret, fc.string(), (before, hidden, after) => {
      // The mask itself may complete a secret made of asterisks; nothing is given away by that.
      fc.pre(!hidden.includes('*'));
      expect(maskSecrets(`${before}${hidden}${after}`, [hidden])).not.toContain(hidden);
    }),
  );
});

test('an excerpt is one bounded line', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.integer({ min: 1, max: 50 }),
      (text, length) => {
        const line = excerptOf(text, length);
        expect(line.length).toBeLessThanOrEqual(length);
        expect(line).not.toMatch(/[\u0000-\u001f\u007f]/);
      },
    ),
  );
});
