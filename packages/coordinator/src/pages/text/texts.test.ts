import { describe, expect, test } from 'vitest';
import { fillIn, LANGUAGE_NAMES, LANGUAGES, languageOf } from './texts.ts';

/** Collects the texts of a file by their paths. */
function texts(file: object, path = ''): Map<string, string> {
  return new Map(
    Object.entries(file).flatMap(([key, value]: [string, unknown]) =>
      typeof value === 'object' && value !== null
        ? [...texts(value, `${path}${key}.`)]
        : [[`${path}${key}`, String(value)] as const],
    ),
  );
}

const holders = (text = '') => [...text.matchAll(/\{\w+\}/g)].map(([holder]) => holder).sort();

describe.each(LANGUAGE_NAMES)('the texts in %s', (language) => {
  const english = texts(LANGUAGES.en);
  const own = texts(LANGUAGES[language]);

  test('have the same keys as the English texts', () => {
    expect([...own.keys()].sort()).toEqual([...english.keys()].sort());
  });

  test('have the same place holders, and are not empty', () => {
    for (const [key, text] of own) {
      expect([key, holders(text)]).toEqual([key, holders(english.get(key))]);
      expect(text.trim()).not.toBe('');
    }
  });

  test('contain no character that HTML escapes', () => {
    for (const text of own.values()) expect(text).not.toMatch(/[<>&"]/);
  });
});

test('a value is inserted unchanged, even if it contains place holders', () => {
  expect(fillIn('{a} and {b}, {c}', { a: '{b}', b: '$&' })).toBe('{b} and $&, {c}');
});

describe('the language of an answer', () => {
  test.each([
    [null, undefined, 'en'],
    [null, 'de', 'de'],
    [null, 'de-AT,de;q=0.9,en;q=0.8', 'de'],
    [null, 'fr,de;q=0.3,en;q=0.5', 'en'],
    [null, 'fr', 'en'],
    [null, 'de;q=0,en', 'en'],
    [null, ';;,de;q=x', 'en'],
    ['de', 'en', 'de'],
    ['xx', 'de', 'de'],
    ['__proto__', undefined, 'en'],
  ])('?lang=%s with %s is %s', (asked, header, language) => {
    expect(languageOf(asked, header)).toBe(language);
  });
});
