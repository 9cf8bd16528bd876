import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { bytesUpTo, charactersUpTo, type Fits, shortened } from './shortening.ts';

const FAMILY = '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}';
const FLAG = '\u{1F1E9}\u{1F1EA}';
const COMBINED = 'e\u0301\u0323';

test.each([
  ['a text that fits stays', 'abc', charactersUpTo(3), 'abc'],
  ['characters', 'abcd', charactersUpTo(3), 'ab…'],
  ['a surrogate pair is two characters', '\u{1F6D2}\u{1F6D2}', charactersUpTo(3), '\u{1F6D2}…'],
  ['bytes: the ellipsis takes three', 'größte', bytesUpTo(7), 'grö…'],
  ['an emoji of several code points is not cut', `a${FAMILY}b`, charactersUpTo(8), 'a…'],
  ['a flag is not cut', `${FLAG}${FLAG}`, charactersUpTo(7), `${FLAG}…`],
  ['a letter keeps its marks', `${COMBINED}${COMBINED}`, charactersUpTo(5), `${COMBINED}…`],
  ['no space before the ellipsis', 'one two', charactersUpTo(5), 'one…'],
  ['one grapheme that is too long', `e${'\u0301'.repeat(99)}`, charactersUpTo(50), '…'],
  ['no room at all', 'abc', charactersUpTo(0), ''],
  ['the limit counts the form', 'a&b&c', charactersUpTo(8, (text) => text.replaceAll('&', '&amp;')), 'a&b…'],
])('%s', (_, text, fits, expected) => {
  expect(shortened(text, fits)).toBe(expected);
});

const ofGraphemes = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 8 }),
      fc.constantFrom(FAMILY, FLAG, COMBINED, '\r\n', ' '),
    ),
  )
  .map((parts) => parts.join(''));

describe.each<[name: string, fits: (limit: number) => Fits, sizeOf: (text: string) => number]>([
  ['characters', charactersUpTo, (text) => text.length],
  ['bytes', bytesUpTo, (text) => Buffer.byteLength(text)],
])('any text, within a number of %s', (_, fits, sizeOf) => {
  test('fits, is well-formed, and ends between two graphemes', () => {
    fc.assert(
      fc.property(ofGraphemes, fc.nat(60), (text, limit) => {
        const short = shortened(text, fits(limit));
        expect(sizeOf(short)).toBeLessThanOrEqual(limit);
        expect(short.isWellFormed()).toBe(true);
        if (short === text) return;
        expect(sizeOf(text)).toBeGreaterThan(limit);
        expect(endsOf(text)).toContain(short.slice(0, -1));
      }),
    );
  });

  test('keeps as much of the text as fits', () => {
    fc.assert(
      fc.property(ofGraphemes, fc.integer({ min: 3, max: 60 }), (text, limit) => {
        const short = shortened(text, fits(limit));
        if (short === text) return;
        const longer = endsOf(text).filter((begun) => begun.length > short.length - 1);
        for (const begun of longer) expect(sizeOf(`${begun}…`)).toBeGreaterThan(limit);
      }),
    );
  });
});

/** Every beginning of the text that ends between two graphemes, without white space at its end. */
function endsOf(text: string): string[] {
  const ends = [''];
  for (const { index, segment } of new Intl.Segmenter('en').segment(text)) {
    ends.push(text.slice(0, index + segment.length).trimEnd());
  }
  return ends;
}

test('the segmenter is made once, for the first text that is too long', async () => {
  const made = vi.spyOn(Intl, 'Segmenter');
  try {
    vi.resetModules();
    const fresh = await import('./shortening.ts');
    expect(fresh.shortened('abc', charactersUpTo(3))).toBe('abc');
    expect(made).not.toHaveBeenCalled();
    for (const text of ['abcd', 'abcde']) expect(fresh.shortened(text, charactersUpTo(3))).toBe('ab…');
    expect(made).toHaveBeenCalledTimes(1);
  } finally {
    made.mockRestore();
  }
});
