/*
 * Shortens texts to the limits of vendors. A text is cut between graphemes (UAX #29), which people
 * see as characters. So neither a surrogate pair nor an emoji of several code points is cut in half.
 */

/** Returns whether a text is within a limit. If a text fits, each beginning of it must fit too. */
export type Fits = (text: string) => boolean;

/** Returns the form in which a medium gets a text, such as its escaped form. Some limits count this form. */
export type Form = (text: string) => string;

const asItIs: Form = (text) => text;

/**
 * A text fits if its form has at most `limit` characters. Vendors rarely document what counts as a character.
 * UTF-16 code units are counted, because a text never has more code points or graphemes than code units.
 */
export function charactersUpTo(limit: number, form: Form = asItIs): Fits {
  return (text) => form(text).length <= limit;
}

/** A text fits if its form has at most `limit` bytes in UTF-8. */
export function bytesUpTo(limit: number, form: Form = asItIs): Fits {
  return (text) => Buffer.byteLength(form(text)) <= limit;
}

const ELLIPSIS = '…';

/** The segmenter is created at its first use, because the creation takes about 10 ms. */
let graphemes: Intl.Segmenter | undefined;

/**
 * Returns the text if it fits. Otherwise returns the longest beginning that fits together with an ellipsis,
 * without white space before the ellipsis. Returns '' if not even the ellipsis fits.
 */
export function shortened(text: string, fits: Fits): string {
  if (fits(text)) return text;
  const ends: number[] = [];
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  for (const { index, segment } of graphemes.segment(text)) ends.push(index + segment.length);
  const begun = (count: number) => `${text.slice(0, ends[count - 1] ?? 0).trimEnd()}${ELLIPSIS}`;
  let fitting = 0;
  let tooMany = ends.length + 1;
  while (tooMany - fitting > 1) {
    const middle = Math.floor((fitting + tooMany) / 2);
    if (fits(begun(middle))) fitting = middle;
    else tooMany = middle;
  }
  const result = begun(fitting);
  return fits(result) ? result : '';
}
