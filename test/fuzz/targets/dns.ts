import { equal } from 'node:assert/strict';
import { recordsOf, textOf } from '@svc/agent/dns/answers.ts';
import {
  canonicalName,
  DnsFormatError,
  decodeMessage,
  encodeName,
  encodeQuery,
} from '@svc/agent/dns/packet.ts';
import { RECORD_TYPES } from '@svc/shared/messages/check.ts';
import { encodeResponse } from '../../support/dns-server.ts';
import { type FuzzTarget, latin1 } from '../target.ts';

const isRefusal = (error: unknown): boolean => error instanceof DnsFormatError;

const RECORDS = [
  { name: 'www.example.com', type: 'CNAME', data: encodeName('b.example.com') },
  { name: 'b.example.com', type: 'A', data: Buffer.from([192, 0, 2, 1]) },
  { name: 'b.example.com', type: 'AAAA', data: Buffer.alloc(16, 7) },
  {
    name: 'b.example.com',
    type: 'MX',
    data: Buffer.concat([Buffer.from([0, 10]), encodeName('mx.example')]),
  },
  { name: 'b.example.com', type: 'TXT', data: latin1('\x05hello\x00\x03abc') },
  { name: 'b.example.com', type: 'NS', data: encodeName('ns.example.com') },
];
const QUERY = encodeQuery(7, { name: 'www.example.com', type: 'A' }, true);

const RESPONSES = [RECORDS, RECORDS.slice(0, 2), [], ...RECORDS.map((record) => [record])].map((records) =>
  encodeResponse({ id: 7, name: 'www.example.com', type: 'A' }, { records }),
);

export const DNS_PACKET: FuzzTarget = {
  name: 'dns-packet',
  corpus: [QUERY, ...RESPONSES],
  words: [
    '\xc0\x0c',
    '\xc0\x00',
    '\xc0\xff',
    '\xff\xff',
    '\x00\x01',
    '\x00\x05',
    '\x00\x0f',
    '\x00\x10',
    '\x00\x1c',
    '\x00\x02',
    `\x3f${'a'.repeat(63)}`,
    '\x40',
    '\x80',
    '\x01.',
    '\x01\\',
    '\x02\x00\xff',
    '\x03www',
    '\x00\x00\x00\x00',
  ],
  parse: decodeMessage,
  isRefusal,
  check(input) {
    const message = accepted(() => decodeMessage(input));
    if (message === null) return;
    for (const { name } of message.answers) {
      equal(canonicalName(name), name, 'a name that does not come back');
      for (const type of RECORD_TYPES) for (const record of recordsOf(message, name, type)) textOf(record);
    }
  },
};

export const DNS_NAME: FuzzTarget = {
  name: 'dns-name',
  corpus: [
    'a',
    'www.example.com',
    'WWW.Example.COM.',
    '\\046.a',
    'a\\.b.c',
    '\\\\.x',
    '*.a',
    '.',
    '',
    'xn--a._tcp',
  ].map(latin1),
  words: ['.', '\\', '\\046', '\\255', '\\256', '\\000', '..', 'a'.repeat(63), 'a'.repeat(64)],
  parse: (input) => canonicalName(input.toString()),
  isRefusal,
  check(input) {
    const text = input.toString();
    const name = accepted(() => canonicalName(text));
    if (name === null) return;
    equal(canonicalName(name), name, 'a canonical name that is another one');
    if (name !== '.') equal(canonicalName(`${name}.`), name, 'another name with its final dot');
  },
};

/** Null: it is refused. */
function accepted<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return null;
  }
}
