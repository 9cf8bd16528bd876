import { canonicalAddress } from '../address.ts';
import { asciiDomainName } from '../domain-name.ts';
import { LIMITS } from '../limits.ts';
import type { DnsCheck, RecordComparator, RecordType } from '../messages/check.ts';

export type RecordAssertion = DnsCheck['record_assertions'][number];

/**
 * What was answered, by record type, in canonical form: addresses as RFC 5952 writes them, names in
 * lower case without trailing dot, MX as `10 mail.example.com`, TXT with its chunks joined. A type
 * that is missing is an empty set.
 */
export type ObservedRecords = Partial<Record<RecordType, readonly string[]>>;

/**
 * Judges DNS answers: all assertions must hold. `eq` and `contains` ask for some record that does,
 * `neq` and `not_contains` that no record does; so on an empty set the first two fail and the others hold.
 *
 * @returns what was expected and seen of the first assertion that does not hold (at most 500
 *   characters), or undefined when all hold.
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

function holds({ record, comparator, target }: RecordAssertion, values: readonly string[]): boolean {
  switch (comparator) {
    case 'eq':
      return values.some((value) => equals(record, value, target));
    case 'neq':
      return !values.some((value) => equals(record, value, target));
    case 'contains':
      return values.some((value) => contains(record, value, target));
    case 'not_contains':
      return !values.some((value) => contains(record, value, target));
    default:
      throw new TypeError(`unknown comparator ${String(comparator satisfies never)}`);
  }
}

function equals(record: RecordType, value: string, target: string): boolean {
  switch (record) {
    case 'A':
    case 'AAAA':
      return value === canonicalAddress(target.trim());
    case 'CNAME':
      return value === canonicalName(target.trim());
    case 'MX': {
      const [, preference, name = ''] = /^(?:(\d+)\s+)?(\S+)$/.exec(target.trim()) ?? [];
      const wanted = canonicalName(name);
      // A target without preference matches the name of the mail server alone.
      if (preference === undefined) return value.slice(value.indexOf(' ') + 1) === wanted;
      return value === `${Number(preference)} ${wanted}`;
    }
    case 'TXT':
      return value === target;
    default:
      throw new TypeError(`unknown record type ${String(record satisfies never)}`);
  }
}

function contains(record: RecordType, value: string, part: string): boolean {
  switch (record) {
    case 'TXT':
      // Text keeps its case.
      return value.includes(part);
    case 'A':
    case 'AAAA':
      // A whole address is found in any spelling; a part of one is compared as text.
      return value.includes(canonicalAddress(part.trim()) ?? part.toLowerCase());
    case 'CNAME':
    case 'MX':
      // With the dot that ends every name put back, `example.com.` is found as well as `mail.`.
      return `${value}.`.includes(part.toLowerCase());
    default:
      throw new TypeError(`unknown record type ${String(record satisfies never)}`);
  }
}

/** A name in lower case without its trailing dot, IDNA names in their ASCII form. */
function canonicalName(text: string): string {
  const lower = (asciiDomainName(text) ?? text).toLowerCase();
  return lower.length > 1 && lower.endsWith('.') ? lower.slice(0, -1) : lower;
}

const WORDS = {
  eq: 'some',
  contains: 'some',
  neq: 'no',
  not_contains: 'no',
} as const satisfies Record<RecordComparator, string>;

function failure({ record, comparator, target }: RecordAssertion, values: readonly string[]): string {
  const relation = comparator === 'eq' || comparator === 'neq' ? 'equal to' : 'containing';
  const expected = `expected ${WORDS[comparator]} ${record} record ${relation} ${JSON.stringify(clip(target, 140))}`;
  const seen =
    values.length === 0 ? 'none' : values.map((value) => JSON.stringify(clip(value, 80))).join(', ');
  return clip(`${expected}, saw ${seen}`, LIMITS.errorMessage);
}

function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1).toWellFormed()}…` : text;
}
