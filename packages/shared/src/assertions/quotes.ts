import type { RecordComparator, StringComparator } from '../messages/check.ts';
import { containsText, longestStart } from './compare.ts';

/**
 * Maximum length of a quote, in characters as they are written. A message has space
 * for two quotes and their place.
 */
const MAX_QUOTE = 100;
/** Length of the text that is shown before the place of interest, in UTF-16 units. */
const BEFORE = 40;

/**
 * The target and the seen text as a message quotes them. Long texts are cut around the place that explains
 * the failure, where there is one.
 */
export type QuotedPair = {
  readonly target: string;
  readonly seen: string;
  /**
   * The place of the difference, or of a forbidden text, in words; empty when the quotes themselves show it,
   * or when there is no such place.
   */
  readonly place: string;
};

/** Places of interest in both texts, UTF-16 units. */
type Places = { readonly target: number; readonly seen: number };

/** Quotes two texts for the message about a failed assertion: the target, and the text that was seen. */
export function quotePair(
  comparator: StringComparator | RecordComparator,
  target: string,
  seen: string,
): QuotedPair {
  const places = placesOf(comparator, target, seen);
  const { target: inTarget, seen: inSeen } = places ?? { target: 0, seen: 0 };
  const quotes = { target: quote(target, inTarget), seen: quote(seen, inSeen) };
  if (places === null || target === '' || seen === '') return { ...quotes, place: '' };
  const position = codePoints(seen, inSeen) + 1;
  if (comparator === 'not_contains') {
    return { ...quotes, place: inSeen < BEFORE ? '' : `; it is at character ${position}` };
  }
  const [wanted, found] = [characterAt(target, inTarget), characterAt(seen, inSeen)];
  const isShown = [wanted, found].every((text) => PLAIN.test(text)) && isWhole(target) && isWhole(seen);
  const place = isShown
    ? ''
    : `; they differ at character ${position}: ${named(wanted)} against ${named(found)}`;
  return { ...quotes, place };
}

/** Length of the common beginning of two texts, UTF-16 units. */
export function commonStart(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  let index = 0;
  while (index < end && one.charCodeAt(index) === other.charCodeAt(index)) index += 1;
  // A character of two units is not split.
  return index > 0 && isHighSurrogate(one.charCodeAt(index - 1)) ? index - 1 : index;
}

/**
 * A text in quotes on one line; an empty text is named in words. A long text is cut around a place (UTF-16
 * units), and the length of the whole text is added.
 */
export function quote(text: string, around = 0): string {
  if (text === '') return 'an empty text';
  const start = isWhole(text) ? 0 : startBefore(text, around);
  let written = '';
  let end = start;
  let cluster = '';
  while (end < text.length) {
    const character = characterAt(text, end);
    cluster = MARK.test(character) ? cluster + character : character;
    const piece = isComposable(cluster) || INVISIBLE.test(character) ? escaped(character) : character;
    if (written.length + piece.length > MAX_QUOTE) break;
    written += piece;
    end += character.length;
  }
  const isCut = start > 0 || end < text.length;
  const length = isCut ? ` (${text.length} characters)` : '';
  return `"${start > 0 ? '…' : ''}${written}${end < text.length ? '…' : ''}"${length}`;
}

function placesOf(
  comparator: StringComparator | RecordComparator,
  target: string,
  seen: string,
): Places | null {
  switch (comparator) {
    case 'contains':
      return nearest(target, seen);
    case 'not_contains': {
      const { length, end } = longestStart(seen, target);
      return { target: 0, seen: end - length };
    }
    case 'neq':
    case 'empty':
    case 'not_empty':
      return null;
    default: {
      const start = commonStart(target, seen);
      return start === target.length && start === seen.length ? null : { target: start, seen: start };
    }
  }
}

/**
 * The place where `seen` is closest to `target`: there, `seen` contains at least the first or the last half
 * of `target`. A single difference leaves one of the halves intact. Null: there is no such place.
 */
function nearest(target: string, seen: string): Places | null {
  const half = Math.ceil(target.length / 2);
  if (containsText(seen, target.slice(0, half))) {
    const { length, end } = longestStart(seen, target);
    return { target: length, seen: end };
  }
  if (!containsText(seen, target.slice(-half))) return null;
  const { length, end } = longestStart(seen, target, true);
  return { target: target.length - length - 1, seen: Math.max(0, seen.length - end - 1) };
}

/** Invisible characters, characters that look like a blank, and the backslash with which they are written. */
const INVISIBLE = /[\p{C}\p{DI}\p{Zl}\p{Zp}\\]|(?! )\p{Zs}/u;
const MARK = /^\p{M}$/u;
const PLAIN = /^[!-~]$/;

/** Whether a letter and its last mark also exist as one character, which looks the same. */
function isComposable(cluster: string): boolean {
  return cluster.length > 1 && MARK.test(cluster.at(-1) ?? '') && cluster.normalize('NFC') !== cluster;
}

function escaped(character: string): string {
  const short = { '\t': '\\t', '\n': '\\n', '\r': '\\r', '\\': '\\\\' }[character];
  if (short !== undefined) return short;
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
}

/** The character with its code point: `C (U+0043)`; only the code point when the character is not visible. */
function named(character: string): string {
  if (character === '') return 'the end';
  const hex = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  const isSeen = !INVISIBLE.test(character) && !MARK.test(character) && character !== ' ';
  return isSeen ? `${character} (U+${hex})` : `U+${hex}`;
}

function isWhole(text: string): boolean {
  return text.length <= MAX_QUOTE;
}

function startBefore(text: string, around: number): number {
  const start = Math.max(0, around - BEFORE);
  return isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start;
}

function characterAt(text: string, index: number): string {
  const code = text.codePointAt(index);
  return code === undefined ? '' : String.fromCodePoint(code);
}

/** Number of characters (code points) of the text before an index in UTF-16 units. */
function codePoints(text: string, end: number): number {
  let count = 0;
  for (let index = 0; index < end; index += 1) if (!isLowSurrogate(text.charCodeAt(index))) count += 1;
  return count;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
