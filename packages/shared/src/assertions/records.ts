import { addressBytes, asciiDomainName, canonicalAddress } from '../address.ts';
import { LIMITS } from '../limits.ts';
import type { DnsCheck, RecordComparator, RecordType } from '../messages/check.ts';
import { containsText } from './compare.ts';
import type { JudgedAssertion } from './evaluate.ts';
import { commonStart, quote, quotePair } from './quotes.ts';

type RecordAssertion = DnsCheck['record_assertions'][number];

/**
 * Answered records by type in canonical form: addresses as RFC 5952 writes them, names in lower case without
 * a trailing dot, MX as `10 mail.example.com`, TXT with its chunks joined. A missing type is an empty set.
 */
export type ObservedRecords = Partial<Record<RecordType, readonly string[]>>;

/**
 * Judges DNS answers: all assertions must hold. `eq` and `contains` hold when some record matches. `neq` and
 * `not_contains` hold when no record matches. On an empty set, `eq` and `contains` fail, and `neq` and
 * `not_contains` hold.
 *
 * @returns the message about the first assertion that fails (`expected …, saw …`, at most 500 characters);
 *   undefined when all assertions hold
 */
export function evaluateRecords(
  assertions: readonly RecordAssertion[],
  records: ObservedRecords,
): string | undefined {
  for (const assertion of assertions) {
    const values = records[assertion.record] ?? [];
    if (!holds(assertion, values)) return failure(assertion, values);
  }
  return undefined;
}

/** Gives the verdict on every assertion, for people who try a check. */
export function judgeRecords(
  assertions: readonly RecordAssertion[],
  records: ObservedRecords,
): JudgedAssertion[] {
  return assertions.map((assertion) => ({
    assertion: expectation(assertion),
    failure: evaluateRecords([assertion], records) ?? null,
  }));
}

/**
 * Whether further records of its type could still change the verdict on an assertion. They can as long as no
 * record matches, because every assertion requires or forbids a matching record.
 */
export function isOpen({ record, comparator, target }: RecordAssertion, values: readonly string[]): boolean {
  const matches = matcher(record, comparator, target);
  return !values.some(matches);
}

function holds({ record, comparator, target }: RecordAssertion, values: readonly string[]): boolean {
  const isFound = values.some(matcher(record, comparator, target));
  return comparator === 'eq' || comparator === 'contains' ? isFound : !isFound;
}

type Matches = (value: string) => boolean;

/** Prepares the target once, because an answer may hold thousands of records. */
function matcher(record: RecordType, comparator: RecordComparator, target: string): Matches {
  switch (comparator) {
    case 'eq':
    case 'neq':
      return equality(record, target);
    case 'contains':
    case 'not_contains':
      return containment(record, target);
    default:
      throw new TypeError(`unknown comparator ${String(comparator satisfies never)}`);
  }
}

function equality(record: RecordType, target: string): Matches {
  switch (record) {
    case 'A':
    case 'AAAA': {
      const wanted = typedAddress(target);
      return (value) => value === wanted;
    }
    case 'CNAME': {
      const wanted = canonicalName(target.trim());
      return (value) => value === wanted;
    }
    case 'MX': {
      const [, preference, name = ''] = /^(?:(\d+)\s+)?(\S+)$/.exec(target.trim()) ?? [];
      const wanted = canonicalName(name);
      // A target without preference matches the name of the mail server alone.
      if (preference === undefined) return (value) => value.slice(value.indexOf(' ') + 1) === wanted;
      return (value) => value === `${Number(preference)} ${wanted}`;
    }
    case 'TXT': {
      const unquoted = unquotedText(target);
      return (value) => value === target || value === unquoted;
    }
    default:
      throw new TypeError(`unknown record type ${String(record satisfies never)}`);
  }
}

function containment(record: RecordType, part: string): Matches {
  switch (record) {
    case 'TXT': {
      // The comparison of TXT records is case-sensitive.
      const unquoted = unquotedText(part);
      return (value) => containsText(value, part) || (unquoted !== null && containsText(value, unquoted));
    }
    case 'A': {
      const wanted = typedAddress(part) ?? part.trim();
      return (value) => value.includes(wanted);
    }
    case 'AAAA': {
      const typed = part.trim().toLowerCase();
      const wanted = typedAddress(part) ?? typed;
      return (value) => value.includes(wanted) || spellingsOf(value).some((text) => text.includes(typed));
    }
    case 'CNAME':
    case 'MX': {
      // The final dot is put back at the end of the value, so that both `example.com.` and `mail.` are found.
      const wanted = part.toLowerCase();
      return (value) => containsText(`${value}.`, wanted);
    }
    default:
      throw new TypeError(`unknown record type ${String(record satisfies never)}`);
  }
}

/** A name in lower case without its trailing dot, in its ASCII form where it has one. */
function canonicalName(text: string): string {
  const lower = (asciiDomainName(text) ?? text).toLowerCase();
  return lower.length > 1 && lower.endsWith('.') ? lower.slice(0, -1) : lower;
}

/**
 * Reads an address in any spelling, and returns it in the form that answers have; null: the text is no
 * address. Brackets as in a URL are accepted.
 */
function typedAddress(text: string): string | null {
  const [, bracketed] = /^\[(.*)\]$/.exec(text.trim()) ?? [];
  return canonicalAddress(bracketed ?? text.trim());
}

/**
 * Other ways to write an IPv6 address, for assertions that look for a part of it: with all its zeros
 * (`2001:0db8:0000:…`) and with all its groups (`2001:db8:0:…`).
 */
function spellingsOf(address: string): readonly string[] {
  const bytes = addressBytes(address) ?? [];
  const groups = Array.from({ length: 8 }, (_, n) => (bytes[2 * n] ?? 0) * 0x100 + (bytes[2 * n + 1] ?? 0));
  const hex = groups.map((group) => group.toString(16));
  return [hex.map((group) => group.padStart(4, '0')).join(':'), hex.join(':')];
}

const WORDS = {
  eq: 'some',
  contains: 'some',
  neq: 'no',
  not_contains: 'no',
} as const satisfies Record<RecordComparator, string>;

/** The expectation in words: `some A record equal to "192.0.2.1"`. */
function expectation({ record, comparator, target }: RecordAssertion, quoted = quote(target)): string {
  const relation = comparator === 'eq' || comparator === 'neq' ? 'equal to' : 'containing';
  return `${WORDS[comparator]} ${record} record ${relation} ${quoted}`;
}

/**
 * The message of a failed assertion. When it must say where the nearest record
 * differs, it quotes that record first.
 */
function failure(assertion: RecordAssertion, values: readonly string[]): string {
  const target = comparable(assertion);
  const [nearest, ...others] = values.toSorted((a, b) => commonStart(b, target) - commonStart(a, target));
  if (nearest === undefined) return `expected ${expectation(assertion)}, saw none`;
  const quotes = quotePair(assertion.comparator, target, nearest);
  const hasPlace = quotes.place !== '' && assertion.comparator !== 'neq';
  const seen = hasPlace
    ? `${quotes.seen}${quotes.place}${others.length === 0 ? '' : `; and ${others.map((value) => quote(value)).join(', ')}`}`
    : values.map((value) => quote(value)).join(', ');
  const quoted = hasPlace ? quotes.target : quote(assertion.target);
  return clip(`expected ${expectation(assertion, quoted)}, saw ${seen}`, LIMITS.errorMessage);
}

/**
 * The target as the nearest record is found by it: a TXT without its quotes, a CNAME in its canonical form,
 * any other as it is written.
 */
function comparable({ record, target }: RecordAssertion): string {
  if (record === 'TXT') return unquotedText(target) ?? target;
  return record === 'CNAME' ? canonicalName(target.trim()) : target;
}

function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1).toWellFormed()}…` : text;
}

/**
 * Reads a TXT record as zone files and `dig` write it: `"v=spf1 " "-all"` is `v=spf1 -all`. The pieces are
 * joined as answers are. A backslash before a character stands for the character, and `\DDD` for a byte (RFC
 * 1035, section 5.1).
 *
 * @returns null when the text is not written like this; it then stands for itself
 */
export function unquotedText(text: string): string | null {
  const trimmed = text.trim();
  if (!WRITTEN.test(trimmed)) return null;
  const pieces = [...trimmed.matchAll(PIECE)].map(([, piece = '']) => bytesOf(piece));
  return Buffer.concat(pieces).toString('utf8');
}

/**
 * Matches the whole text, so that a quote in the middle of a text is no syntax. The expression looks at each
 * character once.
 */
const WRITTEN = /^"(?:[^"\\]|\\\d{3}|\\\D)*"(?:\s+"(?:[^"\\]|\\\d{3}|\\\D)*")*$/u;
const PIECE = /"((?:[^"\\]|\\\d{3}|\\\D)*)"/gu;

function bytesOf(piece: string): Buffer {
  const parts = piece.split(/(\\\d{3}|\\\D)/u).map((part) => {
    if (!part.startsWith('\\')) return Buffer.from(part);
    return part.length === 4 ? Buffer.from([Number(part.slice(1)) & 0xff]) : Buffer.from(part.slice(1));
  });
  return Buffer.concat(parts);
}
