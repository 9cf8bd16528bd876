import type { NumberComparator, StringComparator } from '../messages/check.ts';

/** Whether `seen` has the relation `comparator` to `target`. */
export function compareNumber(seen: number, comparator: NumberComparator, target: number): boolean {
  switch (comparator) {
    case 'eq':
      return seen === target;
    case 'neq':
      return seen !== target;
    case 'gt':
      return seen > target;
    case 'gte':
      return seen >= target;
    case 'lt':
      return seen < target;
    case 'lte':
      return seen <= target;
    default:
      return unknownComparator(comparator);
  }
}

/**
 * Whether `seen` has the relation `comparator` to `target`. `gt`, `gte`, `lt` and `lte` compare numbers when
 * both texts are numbers for {@link decimalNumber}, and otherwise compare by code point. `empty` and
 * `not_empty` use `seen` only.
 */
export function compareText(seen: string, comparator: StringComparator, target: string): boolean {
  switch (comparator) {
    case 'contains':
      return containsText(seen, target);
    case 'not_contains':
      return !containsText(seen, target);
    case 'eq':
      return seen === target;
    case 'neq':
      return seen !== target;
    case 'empty':
      return seen === '';
    case 'not_empty':
      return seen !== '';
    case 'gt':
      return order(seen, target) > 0;
    case 'gte':
      return order(seen, target) >= 0;
    case 'lt':
      return order(seen, target) < 0;
    case 'lte':
      return order(seen, target) <= 0;
    default:
      return unknownComparator(comparator);
  }
}

function order(a: string, b: string): number {
  const left = decimalNumber(a);
  const right = left === undefined ? undefined : decimalNumber(b);
  if (left === undefined || right === undefined) return compareCodePoints(a, b);
  return left - right;
}

// Maximum length of a text that is read as a number. The bound keeps a body of 2 MiB of digits cheap.
const MAX_NUMBER_LENGTH = 1_000;
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/**
 * The finite number that `text` writes in decimal digits, with optional sign, fraction and exponent. White
 * space around it is allowed, because bodies tend to end with a line feed. Undefined: the text is no such
 * number, or has more than {@link MAX_NUMBER_LENGTH} characters.
 */
export function decimalNumber(text: string): number | undefined {
  const trimmed = text.trim();
  if (trimmed.length > MAX_NUMBER_LENGTH || !DECIMAL.test(trimmed)) return undefined;
  const value = Number(trimmed);
  return Number.isFinite(value) ? value : undefined;
}

/**
 * Orders texts by code point: negative when `a` comes first, 0 when equal. Comparing code units, as `<`
 * does, would put U+E000–U+FFFF after the characters beyond them, which are written as surrogates.
 */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const left = a.charCodeAt(index);
    const right = b.charCodeAt(index);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Puts surrogates (U+D800–U+DFFF) after all other code units and keeps the order otherwise. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}

function unknownComparator(comparator: never): never {
  throw new TypeError(`unknown comparator ${String(comparator)}`);
}

/**
 * Whether `text` contains `part`, in time that grows with the sum of their lengths.
 *
 * `String.includes` is faster on all usual texts. In the worst case, however, V8 makes part × text
 * comparisons: it took 2.4 s to search 2 MiB of one letter for 8 KiB of that letter with another letter in
 * the middle. No answer of a target may block the event loop for so long.
 */
export function containsText(text: string, part: string): boolean {
  const isQuick = part.length <= SHORT_PART || text.length * part.length <= FEW_PLACES;
  return isQuick ? text.includes(part) : longestStart(text, part).length === part.length;
}

/**
 * Maximum length of a `part` that is always searched by V8. In the worst case, the
 * search takes about 10 ms over 2 MiB.
 */
const SHORT_PART = 128;
/** Maximum product of the lengths of both texts at which V8 also searches for a longer `part`. */
const FEW_PLACES = 10_000_000;

/**
 * The longest beginning of `part` that occurs in `text`, and the index after it. With `isBackwards`, both
 * texts are read from their ends, and the index counts from the end of `text`. This is the search of Knuth,
 * Morris and Pratt, which reads every code unit of `text` about once.
 */
export function longestStart(
  text: string,
  part: string,
  isBackwards = false,
): { length: number; end: number } {
  const unitOf = (of: string, index: number): number =>
    of.charCodeAt(isBackwards ? of.length - 1 - index : index);
  const wanted = Uint16Array.from({ length: part.length }, (_, index) => unitOf(part, index));
  const borders = bordersOf(wanted);
  let longest = { length: 0, end: 0 };
  let matched = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = unitOf(text, index);
    while (matched > 0 && wanted[matched] !== unit) matched = borders[matched - 1] ?? 0;
    if (wanted[matched] === unit) matched += 1;
    if (matched > longest.length) longest = { length: matched, end: index + 1 };
    if (matched === part.length) break;
  }
  return longest;
}

/** For each prefix of `part`, the length of the longest proper prefix that is also a suffix of it. */
function bordersOf(part: Uint16Array): Int32Array {
  const borders = new Int32Array(part.length);
  let matched = 0;
  for (let index = 1; index < part.length; index += 1) {
    while (matched > 0 && part[matched] !== part[index]) matched = borders[matched - 1] ?? 0;
    if (part[matched] === part[index]) matched += 1;
    borders[index] = matched;
  }
  return borders;
}
