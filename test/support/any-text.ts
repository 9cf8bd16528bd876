import fc from 'fast-check';

/** First code point after the surrogates, which no text contains. */
const SURROGATES = { first: 0xd800, count: 0x800 };
const LAST = 0x10ffff - SURROGATES.count;

const character = fc.nat(LAST).map(
  (number) => String.fromCodePoint(number < SURROGATES.first ? number : number + SURROGATES.count),
  // Without the reverse mapping, fast-check could not use its list of dangerous texts.
  (text) => {
    const point = typeof text === 'string' ? (text.codePointAt(0) ?? -1) : -1;
    if (point < 0 || String.fromCodePoint(point) !== text) throw new TypeError('not one character');
    return point < SURROGATES.first ? point : point - SURROGATES.count;
  },
);

/**
 * Texts of any characters, like those of `fc.string({ unit: 'binary' })`. That one lists all characters
 * first, which takes a second of CPU in each process.
 */
export function anyText(lengths: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ ...lengths, unit: character });
}

/**
 * URLs of any short path. `fc.webUrl()` lists the percent forms of all characters first, which takes a second and a half of
 * CPU in each process.
 */
export function anyUrl(): fc.Arbitrary<string> {
  return fc
    .tuple(
      fc.constantFrom('http', 'https'),
      fc.webAuthority(),
      fc.array(anyText({ maxLength: 3 }), { maxLength: 3 }),
    )
    .map(([scheme, authority, path]) => {
      const segments = path.map((segment) => `/${encodeURIComponent(segment)}`);
      return `${scheme}://${authority}${segments.join('')}`;
    });
}
