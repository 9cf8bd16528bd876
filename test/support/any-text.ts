import fc from 'fast-check';

/** The surrogates, which no text contains: the first code point, and their number. */
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
 * Generates texts of any characters, like `fc.string({ unit: 'binary' })`. That
 * function lists all characters first, which takes a second of CPU in each process.
 */
export function anyText(lengths: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.string({ ...lengths, unit: character });
}

/**
 * Generates URLs of any short path. `fc.webUrl()` lists the percent forms of all
 * characters first, which takes one and a half seconds of CPU in each process.
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
