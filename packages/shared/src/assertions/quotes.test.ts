import { expect, test } from 'vitest';
import { quotePair } from './quotes.ts';

const long = (end: string): string => `v=DKIM1; k=rsa; p=${'MIGf'.repeat(100)}${end}`;

function said(comparator: 'eq' | 'contains' | 'not_contains' | 'gt', target: string, seen: string): string {
  const quotes = quotePair(comparator, target, seen);
  return `${quotes.target} | ${quotes.seen}${quotes.place}`;
}

test.each([
  ['short texts are shown whole', 'eq', '2', '1.10, 2', '"2" | "1.10, 2"'],
  [
    'the end of long ones',
    'eq',
    long('IDAQAC'),
    long('IDAQAB'),
    /^"….*IDAQAC" \(424 characters\) \| "….*IDAQAB" \(424 characters\); they differ at character 424: C \(U\+0043\) against B \(U\+0042\)$/,
  ],
  [
    'a longer one',
    'eq',
    long('A'),
    long('AB'),
    /; they differ at character 420: the end against B \(U\+0042\)$/,
  ],
  ['a tab', 'eq', 'a\tb', 'a b', '"a\\tb" | "a b"; they differ at character 2: U+0009 against U+0020'],
  [
    'no width',
    'eq',
    'ok',
    'o\u200bk',
    '"ok" | "o\\u200bk"; they differ at character 2: k (U+006B) against U+200B',
  ],
  [
    'beyond the basic plane',
    'eq',
    'a',
    'a\u{e0001}',
    '"a" | "a\\u{e0001}"; they differ at character 2: the end against U+E0001',
  ],
  [
    'a decomposed letter',
    'eq',
    'é',
    'e\u0301',
    '"é" | "e\\u0301"; they differ at character 1: é (U+00E9) against e (U+0065)',
  ],
  [
    'letters that look alike',
    'eq',
    'А1',
    'A1',
    '"А1" | "A1"; they differ at character 1: А (U+0410) against A (U+0041)',
  ],
  [
    'characters, not units',
    'eq',
    '🙂🙂a',
    '🙂🙂b'.replace('b', 'ä'),
    /they differ at character 3: a \(U\+0061\) against ä \(U\+00E4\)$/,
  ],
  [
    'halves of a character are not shown',
    'eq',
    '🙂',
    '🙃',
    /they differ at character 1: 🙂 \(U\+1F642\) against 🙃 \(U\+1F643\)$/,
  ],
  ['a backslash is told from a name', 'eq', 'a\\tb', 'a\tb', /^"a\\\\tb" \| "a\\tb"; they differ/],
  ['marks that belong to a script stay', 'eq', 'ที่', 'x', /^"ที่" \| "x"/],
  [
    'the nearest place in a page',
    'contains',
    'Order accepted',
    `${'x'.repeat(500)}Order accepteb${'y'.repeat(500)}`,
    /^"Order accepted" \| "…x{27}Order accepteby+…" \(1014 characters\); they differ at character 514: d \(U\+0064\) against b/,
  ],
  [
    'the nearest place by its end',
    'contains',
    'Order accepted',
    `${'x'.repeat(500)}Order\u00a0accepted${'y'.repeat(500)}`,
    /Order\\u00a0acceptedy+…" \(1014 characters\); they differ at character 506: U\+0020 against U\+00A0$/,
  ],
  [
    'nothing near',
    'contains',
    'Order accepted',
    'z'.repeat(500),
    /^"Order accepted" \| "z{100}…" \(500 characters\)$/,
  ],
  [
    'where a forbidden text is',
    'not_contains',
    'Error',
    `${'x'.repeat(500)}Error`,
    /^"Error" \| "…x{40}Error" \(505 characters\); it is at character 501$/,
  ],
] as const)('a message shows the difference: %s', (_name, comparator, target, seen, expected) => {
  if (typeof expected === 'string') expect(said(comparator, target, seen)).toBe(expected);
  else expect(said(comparator, target, seen)).toMatch(expected);
});
