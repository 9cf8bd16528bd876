import { expect, test } from 'vitest';
import { LIMITS } from '../limits.ts';
import { checkResult, NOT_RUN_REASONS, resultBatch, runResult } from './check-result.ts';

const ATTEMPT = { outcome: 'failed', started_ms: 0, latency: 3.4, status_code: 500, error_message: 'why' };
const RESULT = {
  monitor: 7,
  version: 1,
  slot: 1_763_720_000_000,
  token: 'x'.repeat(64),
  outcome: 'failed',
  reason: 'overloaded',
  started_at: 1_763_720_000_010,
  latency: 86_400_000,
  phases: { dns: 0, connect: 0.4, tls: 1, first_byte: 1.5, transfer: 0.5 },
  status_code: 999,
  error_message: 'x'.repeat(LIMITS.errorMessage),
  timed_out: true,
  attempts: Array.from({ length: LIMITS.retries + 1 }, () => ATTEMPT),
  certificate_expires_at: -1,
  body_truncated: false,
};

test('a result at its bounds is read unchanged, and its unknown members are dropped', () => {
  expect(checkResult.parse({ ...RESULT, unknown: 1 })).toEqual(RESULT);
});

test.each([
  ['a monitor that is none', { monitor: 0 }],
  ['half a monitor', { monitor: 1.5 }],
  ['a monitor beyond whole numbers', { monitor: 2 ** 53 }],
  ['a version that is none', { version: 0 }],
  ['a negative slot', { slot: -1 }],
  ['half a slot', { slot: 0.5 }],
  ['a long token', { token: 'x'.repeat(65) }],
  ['an unknown outcome', { outcome: 'perhaps' }],
  ['a reason that is no text', { reason: 7 }],
  ['a negative start', { started_at: -1 }],
  ['a negative latency', { latency: -0.1 }],
  ['a latency of more than a day', { latency: 86_400_000.5 }],
  ['a latency in words', { latency: '1' }],
  ['a negative phase', { phases: { dns: -1 } }],
  ['a last phase of more than a day', { phases: { transfer: 86_400_001 } }],
  ['a negative status code', { status_code: -1 }],
  ['a status code of four digits', { status_code: 1000 }],
  ['half a status code', { status_code: 200.5 }],
  ['a long error message', { error_message: 'x'.repeat(LIMITS.errorMessage + 1) }],
  ['too many attempts', { attempts: [...RESULT.attempts, ATTEMPT] }],
  ['an attempt before the check', { attempts: [{ ...ATTEMPT, started_ms: -1 }] }],
  ['an attempt of a negative latency', { attempts: [{ ...ATTEMPT, latency: -1 }] }],
  ['an attempt with half a status code', { attempts: [{ ...ATTEMPT, status_code: 0.5 }] }],
  [
    'an attempt with a long error message',
    { attempts: [{ ...ATTEMPT, error_message: 'x'.repeat(LIMITS.errorMessage + 1) }] },
  ],
  ['half an expiry', { certificate_expires_at: 0.5 }],
  ['an expiry that no date has', { certificate_expires_at: 8_640_000_000_000_001 }],
])('%s is refused', (_, change) => {
  expect(checkResult.safeParse({ ...RESULT, ...change }).success).toBe(false);
});

test('of too many attempts, none is parsed', () => {
  const { error } = checkResult.safeParse({ ...RESULT, attempts: new Array(100_000).fill(1) });
  expect(error?.issues).toMatchObject([{ code: 'too_big', path: ['attempts'] }]);
});

test('a reason that only a newer agent knows reads as an error of our own', () => {
  const newer = { ...RESULT, outcome: 'not_run', reason: 'out-of-descriptors' };
  expect(checkResult.parse(newer)).toEqual({ ...newer, reason: 'internal-error' });
  for (const reason of NOT_RUN_REASONS) expect(checkResult.parse({ ...newer, reason }).reason).toBe(reason);
});

test('the outcome of run_now has the same bounds, without monitor and slot', () => {
  const { monitor, version, slot, token, ...found } = RESULT;
  expect(runResult.parse({ monitor, version, slot, token, ...found })).toEqual(found);
  expect(runResult.safeParse({ ...found, latency: -1 }).success).toBe(false);
});

test.each([[null], [7], ['text'], [[]], [{}]])('%j is no result', (value) => {
  expect(checkResult.safeParse(value).success).toBe(false);
});

test.each([
  ['the version we write', { v: 1 }, true],
  ['a later version', { v: 7 }, true],
  ['no version', { v: 0 }, false],
  ['half a version', { v: 1.5 }, false],
  ['512 results', { results: Array(512).fill(1) }, true],
  ['513 results', { results: Array(513).fill(1) }, false],
  ['no result', { results: [] }, false],
])('a batch with %s', (_, change, isRead) => {
  expect(resultBatch.safeParse({ v: 1, agent: 'a', results: [1], ...change }).success).toBe(isRead);
});
