import { describe, expect, test } from 'vitest';
import { recordsOf, textOf } from './answers.ts';
import type { DnsMessage, DnsRecord } from './packet.ts';

const ttl = 60;
const address = (name: string, value: string): DnsRecord => ({ name, ttl, type: 'A', address: value });
const alias = (name: string, target: string): DnsRecord => ({ name, ttl, type: 'CNAME', target });

function message(...answers: DnsRecord[]): DnsMessage {
  return {
    id: 1,
    isResponse: true,
    isTruncated: false,
    rcode: 0,
    isReferral: false,
    question: null,
    answers,
  };
}

describe('the records of a name', () => {
  test('are its own, in the order of the answer', () => {
    const found = recordsOf(message(address('a', '192.0.2.2'), address('a', '192.0.2.1')), 'a', 'A');
    expect(found.map(textOf)).toEqual(['192.0.2.2', '192.0.2.1']);
  });

  test('are found at the end of its chain, in whatever order the links come', () => {
    const answer = message(address('c', '192.0.2.1'), alias('b', 'c'), alias('a', 'b'));
    expect(recordsOf(answer, 'a', 'A').map(textOf)).toEqual(['192.0.2.1']);
  });

  test('are all links when aliases are asked for, in the order of the chain', () => {
    const answer = message(alias('c', 'd'), alias('a', 'b'), alias('b', 'c'), alias('x', 'y'));
    expect(recordsOf(answer, 'a', 'CNAME').map(textOf)).toEqual(['b', 'c', 'd']);
    expect(recordsOf(message(alias('a', 'b'), alias('b', 'a')), 'a', 'CNAME').map(textOf)).toEqual([
      'b',
      'a',
    ]);
    const long = Array.from({ length: 100 }, (_, n) => alias(`n${n}`, `n${n + 1}`));
    expect(recordsOf(message(...long), 'n0', 'CNAME')).toHaveLength(16);
  });

  test('exclude records of other names and types', () => {
    const answer = message(address('other', '192.0.2.1'), { name: 'a', ttl, type: 'TXT', text: 'x' });
    expect(recordsOf(answer, 'a', 'A')).toEqual([]);
  });

  test('are none when the chain is a circle, or leads out of the message', () => {
    expect(recordsOf(message(alias('a', 'b'), alias('b', 'a')), 'a', 'A')).toEqual([]);
    expect(recordsOf(message(alias('a', 'a')), 'a', 'A')).toEqual([]);
    expect(recordsOf(message(alias('a', 'elsewhere')), 'a', 'A')).toEqual([]);
  });
});

test.each<[DnsRecord, string]>([
  [{ name: 'a', ttl, type: 'MX', preference: 10, exchange: 'mail.example.com' }, '10 mail.example.com'],
  [{ name: 'a', ttl, type: 'MX', preference: 0, exchange: '.' }, '0 .'],
  [{ name: 'a', ttl, type: 'TXT', text: 'Hello' }, 'Hello'],
  [{ name: 'a', ttl, type: 'AAAA', address: '2001:db8::1' }, '2001:db8::1'],
])('%o reads "%s"', (record, text) => {
  expect(textOf(record)).toBe(text);
});
