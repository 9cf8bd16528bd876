import { deepEqual, ok } from 'node:assert/strict';
import { consequenceOf } from '@svc/coordinator/export/answers.ts';
import type { PostResult } from '@svc/coordinator/outgoing/http-post.ts';
import { type FuzzTarget, json, latin1, never } from '../target.ts';

const answered = (bytes: Buffer): PostResult => ({
  kind: 'answered',
  statusCode: 200,
  headers: {},
  body: bytes.toString(),
  bytes,
  isWhole: true,
  excerpt: '',
});

const read = (input: Buffer) =>
  (['json', 'protobuf'] as const).map((encoding) => consequenceOf(answered(input), encoding, ['secret']));

/** The answer of an endpoint that metrics are exported to. */
export const OTLP_ANSWER: FuzzTarget = {
  name: 'otlp-answer',
  corpus: [
    json({ partialSuccess: { rejectedDataPoints: '7', errorMessage: 'too old' } }),
    json({ partialSuccess: null }),
    latin1('\x0a\x0b\x08\x07\x12\x07too old'),
    latin1('\x0a\x00'),
  ],
  words: [
    '\x0a',
    '\x08',
    '\x12',
    '\xff\xff\xff\xff',
    '\x80',
    '{',
    '}',
    ':',
    '"',
    'partialSuccess',
    'secret',
    '-1',
    '1e999',
  ],
  parse: read,
  isRefusal: never,
  check(input) {
    for (const consequence of read(input)) {
      ok(consequence.is === 'taken', 'an answer with 200 is taken, whatever it says');
      ok(
        Number.isSafeInteger(consequence.rejected) && consequence.rejected >= 0,
        `${consequence.rejected} points`,
      );
      ok(!consequence.error?.includes('secret'), 'no secret that an endpoint repeats');
    }
    deepEqual(read(input), read(Buffer.from(input)), 'the same bytes elsewhere');
  },
};
