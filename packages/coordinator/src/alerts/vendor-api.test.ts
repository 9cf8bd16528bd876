import { expect, test } from 'vitest';
import type { PostReply } from '../outgoing/http-post.ts';
import { judged, passing, refused } from './vendor-api.ts';

function reply(statusCode: number, more: Partial<PostReply> = {}): PostReply {
  return {
    kind: 'answered',
    statusCode,
    headers: {},
    body: '',
    bytes: new Uint8Array(),
    isWhole: true,
    excerpt: '',
    ...more,
  };
}

test.each([
  ['delivered', [200, 201, 202, 204, 299]],
  ['retry', [300, 301, 302, 304, 307, 308, 402, 405, 408, 409, 418, 425, 429, 451, 500, 502, 503, 504, 599]],
  ['permanent-message', [400, 413, 415, 422]],
  ['permanent-channel', [401, 403, 404, 410]],
] as const)('%s: %j', (outcome, codes) => {
  for (const statusCode of codes) expect(judged(reply(statusCode))).toMatchObject({ outcome, statusCode });
});

test('an unanswered request is tried again; an invalid request is not', () => {
  const error = 'cannot connect';
  expect(judged({ kind: 'unanswered', failure: 'unreachable', error })).toMatchObject({
    outcome: 'retry',
    error,
  });
  expect(judged({ kind: 'unanswered', failure: 'invalid-request', error })).toMatchObject({
    outcome: 'permanent-channel',
    error,
  });
});

test('an untrusted certificate may mean a dead address of a user, an expired one does not', () => {
  const by = (failure: 'certificate' | 'certificate-expired', whose: 'users' | 'operator') =>
    judged({ kind: 'unanswered', failure, error: 'no' }, undefined, whose);
  const unreachable = { outcome: 'retry', error: 'no', reason: 'unreachable' };
  expect(by('certificate', 'users')).toEqual({ ...unreachable, mayBeDead: true });
  expect(by('certificate', 'operator')).toEqual(unreachable);
  expect(by('certificate-expired', 'users')).toEqual(unreachable);
});

test('the meaning of a vendor takes precedence', () => {
  const gone = reply(200, { excerpt: 'no' });
  expect(judged(gone, (answer) => refused('permanent-message', answer))).toMatchObject({
    outcome: 'permanent-message',
    error: 'the receiver answered 200 without confirming the message, so it may be another service: no',
  });
});

test('a wait in the body takes precedence over the header', () => {
  const limited = reply(429, { retryAfterMs: 2_000 });
  expect(judged(limited)).toMatchObject({ retryAfterMs: 2_000 });
  expect(passing(limited, { waitMs: 3_500 })).toMatchObject({ retryAfterMs: 3_500 });
});
