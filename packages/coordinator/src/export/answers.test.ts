import { describe, expect, test } from 'vitest';
import type { PostResult } from '../outgoing/http-post.ts';
import { consequenceOf } from './answers.ts';
import type { Encoding } from './export-settings.ts';

function answered(statusCode: number, body: string | Uint8Array = '', more: object = {}): PostResult {
  const bytes = Buffer.from(body);
  const text = bytes.toString();
  return {
    kind: 'answered',
    headers: {},
    statusCode,
    body: text,
    bytes,
    isWhole: true,
    excerpt: text,
    ...more,
  };
}

const of = (result: PostResult, encoding: Encoding = 'json') =>
  consequenceOf(result, encoding, ['secret-token']);

describe('an answer of an endpoint', () => {
  test.each([
    [200, 'taken'],
    [202, 'taken'],
    [301, 'refused'],
    [307, 'refused'],
    [400, 'other-encoding'],
    [401, 'refused'],
    [404, 'refused'],
    [413, 'refused'],
    [415, 'other-encoding'],
    [429, 'retry'],
    [500, 'refused'],
    [502, 'retry'],
    [503, 'retry'],
    [504, 'retry'],
  ] as const)('%i: %s', (statusCode, is) => {
    expect(of(answered(statusCode)).is).toBe(is);
  });

  test('the wait that the endpoint asks for is returned', () => {
    expect(of(answered(503, '', { retryAfterMs: 7_000 }))).toMatchObject({ is: 'retry', afterMs: 7_000 });
  });

  test('the error for a redirect says that redirects are not followed', () => {
    expect(of(answered(308)).error).toBe('answered 308: redirects are not followed');
  });

  test.each([
    ['no connection', 'unreachable', 'retry'],
    ['no answer', 'timeout', 'retry'],
    ['a denied address', 'egress-denied', 'refused'],
    ['a request that cannot be sent', 'invalid-request', 'refused'],
  ] as const)('%s', (error, failure, is) => {
    expect(of({ kind: 'unanswered', failure, error })).toMatchObject({ is, error });
  });
});

/**
 * Encodes a partial success in Protobuf. Field 1 of the answer has two fields: the
 * number of rejected points (1) and the message (2).
 */
function partialSuccess(rejected: number[], message: string): Uint8Array {
  const text = Buffer.from(message);
  const within = Buffer.concat([Buffer.from([0x08, ...rejected, 0x12, text.length]), text]);
  return Buffer.concat([Buffer.from([0x0a, within.length]), within]);
}

describe('a partial success', () => {
  test.each([
    ['json', '{"partialSuccess":{"rejectedDataPoints":"300","errorMessage":"too old"}}', 300],
    ['json', '{"partialSuccess":{"rejectedDataPoints":300,"errorMessage":"too old"}}', 300],
    ['protobuf', partialSuccess([0xac, 0x02], 'too old'), 300],
  ] as const)('in %s', (encoding, body, rejected) => {
    const error = '300 points were rejected: too old';
    expect(of(answered(200, body), encoding)).toEqual({ is: 'taken', rejected, error });
  });

  test('may be only a warning', () => {
    const body = '{"partialSuccess":{"errorMessage":"soon too many, secret-token"}}';
    expect(of(answered(200, body))).toEqual({ is: 'taken', rejected: 0, error: 'soon too many, ********' });
  });

  test.each([
    ['json', '{}'],
    ['json', 'ok'],
    ['json', 'null'],
    ['json', '{"partialSuccess":null}'],
    ['json', '{"partialSuccess":{"rejectedDataPoints":-5}}'],
    ['json', '{"partialSuccess":{"rejectedDataPoints":null,"errorMessage":null}}'],
    ['json', '{"partialSuccess":{"errorMessage":{"code":7}}}'],
    ['protobuf', ''],
    ['protobuf', '<html>'],
    ['protobuf', Buffer.from([0x0a, 0x7f, 0x01])],
    ['protobuf', Buffer.from([0x0a, 0x0b, 0x08, ...Array<number>(10).fill(0xff)])],
    ['protobuf', Buffer.from([0x08, 0x01])],
  ] as const)('is none where the answer is none: %s %j', (encoding, body) => {
    expect(of(answered(200, body), encoding)).toEqual({ is: 'taken', rejected: 0, error: null });
  });
});
