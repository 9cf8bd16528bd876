import { describe, expect, test } from 'vitest';
import { threadCpu } from '../../../../test/support/thread-cpu.ts';
import type { RecordComparator, RecordType } from '../messages/check.ts';
import { evaluateRecords, isOpen, type ObservedRecords, unquotedText } from './records.ts';

const SEEN: ObservedRecords = {
  A: ['192.0.2.1', '192.0.2.10'],
  AAAA: ['2001:db8::1'],
  CNAME: ['www.xn--bcher-kva.example'],
  MX: ['10 mail.example.com', '20 backup.example.com'],
  TXT: ['v=spf1 include:Example.com -all', '"quoted"'],
};

/** Each case: record type, comparator, target, and whether the assertion holds for the records above. */
const CASES: [RecordType, RecordComparator, string, boolean][] = [
  ['A', 'eq', '192.0.2.1', true],
  ['A', 'eq', ' 192.0.2.10 ', true],
  ['A', 'eq', '192.0.2', false],
  ['A', 'neq', '192.0.2.1', false],
  ['A', 'neq', '192.0.2.2', true],
  ['A', 'contains', '192.0.2.', true],
  ['A', 'contains', '10.', false],
  ['A', 'not_contains', '198.51.', true],
  ['A', 'not_contains', '.10', false],
  ['AAAA', 'eq', '2001:0DB8:0:0::0001', true],
  ['AAAA', 'eq', '2001:db8::2', false],
  ['AAAA', 'eq', 'not an address', false],
  ['AAAA', 'neq', '2001:DB8::1', false],
  ['AAAA', 'contains', '2001:DB8:', true],
  ['AAAA', 'contains', '2001:db8:0::1', true],
  ['AAAA', 'eq', '[2001:db8::1]', true],
  ['AAAA', 'eq', ' 2001:db8:0:0:0:0:0.0.0.1 ', true],
  ['AAAA', 'contains', '2001:db8::', true],
  ['AAAA', 'contains', '2001:0db8:0000:', true],
  ['AAAA', 'contains', '0DB8', true],
  ['AAAA', 'contains', '2001:db8:0:0:', true],
  ['AAAA', 'contains', '2001:db9:', false],
  ['AAAA', 'not_contains', '2001:0db8:', false],
  ['AAAA', 'not_contains', 'fd00:', true],
  ['A', 'eq', '::ffff:192.0.2.1', false],
  ['CNAME', 'eq', 'WWW.xn--bcher-kva.example.', true],
  ['CNAME', 'eq', 'www.bücher.example', true],
  ['CNAME', 'eq', 'bücher.example', false],
  ['CNAME', 'contains', 'Example.', true],
  ['CNAME', 'contains', 'www.', true],
  ['CNAME', 'not_contains', 'cdn', true],
  ['MX', 'eq', '10 mail.example.com', true],
  ['MX', 'eq', '10   Mail.Example.com.', true],
  ['MX', 'eq', '010 mail.example.com', true],
  ['MX', 'eq', '20 mail.example.com', false],
  ['MX', 'eq', 'backup.example.com', true],
  ['MX', 'eq', 'example.com', false],
  ['MX', 'neq', 'mail.example.com', false],
  ['MX', 'contains', 'example.com.', true],
  ['MX', 'contains', '20 backup', true],
  ['TXT', 'eq', 'v=spf1 include:Example.com -all', true],
  ['TXT', 'eq', 'v=spf1 include:example.com -all', false],
  ['TXT', 'contains', 'include:Example.com', true],
  ['TXT', 'contains', 'include:example.com', false],
  ['TXT', 'not_contains', '+all', true],
  ['TXT', 'eq', '"v=spf1 include:Example.com -all"', true],
  ['TXT', 'eq', '"v=spf1 include:" "Example.com -all"', true],
  ['TXT', 'eq', '"v=spf1', false],
  ['TXT', 'neq', '"v=spf1 include:Example.com -all"', false],
  ['TXT', 'contains', '"include:Example.com"', true],
  ['TXT', 'contains', '"', true],
  ['TXT', 'eq', '"quoted"', true],
  ['TXT', 'eq', 'quoted', false],
];

test.each(CASES)('%s %s "%s": %s', (record, comparator, target, holds) => {
  expect(evaluateRecords([{ record, comparator, target }], SEEN) === undefined).toBe(holds);
});

describe.each(['A', 'AAAA', 'CNAME', 'MX', 'TXT'] as const)('an empty set of %s', (record) => {
  test.each([
    ['eq', false],
    ['contains', false],
    ['neq', true],
    ['not_contains', true],
  ] as const)('%s: %s', (comparator, holds) => {
    for (const seen of [{}, { [record]: [] }]) {
      expect(evaluateRecords([{ record, comparator, target: '' }], seen) === undefined).toBe(holds);
    }
  });
});

test.each<[RecordComparator, string, boolean]>([
  ['eq', 'a.example', false],
  ['eq', 'b.example', true],
  ['contains', 'a.', false],
  ['neq', 'a.example', false],
  ['neq', 'b.example', true],
  ['not_contains', 'c', true],
])('CNAME %s "%s" beside a.example depends on further records: %s', (comparator, target, isOpenStill) => {
  expect(isOpen({ record: 'CNAME', comparator, target }, ['a.example'])).toBe(isOpenStill);
});

test('thousands of records are judged at once', () => {
  const values = Array.from({ length: 5_000 }, (_, n) => `${n} mail-${n}.example.com`);
  const assertions = Array.from({ length: 10 }, (_, n) => {
    return { record: 'MX', comparator: 'neq', target: `bücher-${n}.example` } as const;
  });
  const cpuMs = threadCpu();
  expect(evaluateRecords(assertions, { MX: values })).toBeUndefined();
  expect(cpuMs()).toBeLessThan(250);
});

test('all assertions must hold; the message is about the first that does not', () => {
  const failure = evaluateRecords(
    [
      { record: 'A', comparator: 'eq', target: '192.0.2.1' },
      { record: 'MX', comparator: 'eq', target: 'other.example.com' },
      { record: 'A', comparator: 'eq', target: '192.0.2.9' },
    ],
    SEEN,
  );
  expect(failure).toBe(
    'expected some MX record equal to "other.example.com", saw "10 mail.example.com", "20 backup.example.com"',
  );
});

test('a failure shows where the nearest record differs', () => {
  const key = (end: string) => `v=DKIM1; p=${'MIGf'.repeat(100)}${end}`;
  const target = `"${key('IDAQAC').slice(0, 200)}" "${key('IDAQAC').slice(200)}"`;
  const seen = { TXT: ['google-site-verification=1', key('IDAQAB')] };
  expect(evaluateRecords([{ record: 'TXT', comparator: 'eq', target }], seen)).toMatch(
    /IDAQAC" \(417 characters\), saw ".*IDAQAB" \(417 characters\); they differ at character 417: C \(U\+0043\) against B \(U\+0042\); and "google/,
  );
});

test('a failure with long values keeps within 500 characters', () => {
  const values = Array.from({ length: 50 }, (_, n) => `${n} ${'x'.repeat(300)}`);
  const failure = evaluateRecords([{ record: 'TXT', comparator: 'eq', target: 'y'.repeat(2_048) }], {
    TXT: values,
  });
  expect(failure?.length).toBeLessThanOrEqual(500);
});

test.each<[string, string | null]>([
  ['"v=spf1 -all"', 'v=spf1 -all'],
  ['  "v=spf1 -all"  ', 'v=spf1 -all'],
  ['"v=spf1 " "-all"', 'v=spf1 -all'],
  ['"a"\t"b"  "c"', 'abc'],
  ['""', ''],
  ['"say \\"hi\\" \\\\ now"', 'say "hi" \\ now'],
  ['"semi\\;colon"', 'semi;colon'],
  ['"b\\195\\188cher"', 'bücher'],
  ['"bücher 🙂"', 'bücher 🙂'],
  ['v=spf1 -all', null],
  ['', null],
  ['"', null],
  ['"a', null],
  ['a"', null],
  ['"a" b', null],
  ['"a""b"', null],
  ['"a"b"', null],
  ['"ends in \\', null],
])('%s is %j', (written, text) => {
  expect(unquotedText(written)).toBe(text);
});

test('long texts of quotation marks take no longer than others', () => {
  const cpuMs = threadCpu();
  for (const text of ['" '.repeat(4_096), '"\\'.repeat(4_096), `${'"" '.repeat(3_000)}x`]) unquotedText(text);
  expect(cpuMs()).toBeLessThan(250);
});
