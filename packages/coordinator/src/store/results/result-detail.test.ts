import type { Attempt, CheckResult } from '@svc/shared/messages/check-result.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { abstentionDetail, readResultDetail, resultDetail } from './result-detail.ts';

const RESULT: CheckResult = {
  monitor: 1,
  version: 1,
  slot: 30_000,
  token: 't',
  outcome: 'passed',
  started_at: 30_012,
  latency: 12.5,
  phases: { dns: 0.5, connect: 1, tls: 3, first_byte: 5, transfer: 3 },
  status_code: 200,
  attempts: [{ outcome: 'passed', started_ms: 0, latency: 12.5, status_code: 200 }],
};
const FAILED: Attempt = {
  outcome: 'failed',
  started_ms: 0,
  latency: 700,
  error_message: 'timed out after 700 ms',
  timed_out: true,
};

function written(result: CheckResult) {
  const { outcome, latency = null, status_code = null, error_message = null } = result;
  const text = resultDetail(result);
  return { text, read: readResultDetail(text, { outcome, latency, status_code, error_message }) };
}

describe('a read returns the reported result', () => {
  const failed = {
    outcome: 'failed',
    latency: 700,
    error_message: 'timed out after 700 ms',
    timed_out: true,
  } as const;
  const { status_code: _, ...silent } = RESULT;
  test.each<{ name: string; result: CheckResult; saysAttempts: boolean }>([
    { name: 'one attempt', result: RESULT, saysAttempts: false },
    {
      name: 'one that failed',
      result: { ...silent, ...failed, phases: {}, attempts: [FAILED] },
      saysAttempts: false,
    },
    {
      name: 'more than one',
      result: { ...RESULT, attempts: [FAILED, ...RESULT.attempts] },
      saysAttempts: true,
    },
    {
      name: 'one that differs from the result',
      result: {
        ...RESULT,
        attempts: [{ outcome: 'passed', started_ms: 0, latency: 12.6, status_code: 200 }],
      },
      saysAttempts: true,
    },
    {
      name: 'one that did not begin with the check',
      result: {
        ...RESULT,
        attempts: [{ outcome: 'passed', started_ms: 1, latency: 12.5, status_code: 200 }],
      },
      saysAttempts: true,
    },
    { name: 'no attempt but a latency', result: { ...RESULT, attempts: [] }, saysAttempts: true },
    {
      name: 'not run',
      result: {
        monitor: 1,
        version: 1,
        slot: 1,
        token: 't',
        outcome: 'not_run',
        reason: 'overloaded',
        started_at: 5,
        attempts: [],
      },
      saysAttempts: true,
    },
    {
      name: 'some phases, a certificate, a long body',
      result: {
        ...RESULT,
        phases: { connect: 0, first_byte: 2 },
        certificate_expires_at: 1_800_000_000_000,
        body_truncated: true,
      },
      saysAttempts: false,
    },
  ])('$name', ({ result, saysAttempts }) => {
    const { text, read } = written(result);
    const { monitor, version, slot, token, outcome, latency, status_code, error_message, ...detail } = result;
    expect(read).toEqual(detail);
    expect(JSON.parse(text).started_at).toBe(result.started_at);
    expect('attempts' in JSON.parse(text)).toBe(saysAttempts);
  });
});

test('a usual result takes few bytes', () => {
  expect(written(RESULT).text).toBe('{"started_at":30012,"phases":[0.5,1,3,5,3]}');
});

test('any set of phases is read as it was reported', () => {
  const ms = fc.option(
    fc.oneof(
      fc.nat().map((tenths) => tenths / 10),
      fc.double({ min: 0, max: 86_400_000, noNaN: true }),
    ),
    {
      nil: undefined,
    },
  );
  const some = fc.record({ dns: ms, connect: ms, tls: ms, first_byte: ms, transfer: ms });
  fc.assert(
    fc.property(some, fc.nat(), (phases, started_at) => {
      const present = JSON.parse(JSON.stringify(phases));
      const { read } = written({ ...RESULT, phases: present, started_at });
      expect(read).toMatchObject({ phases: present, started_at });
      expect(read.phases).toEqual(present);
    }),
  );
});

test('a check that was not run has no attempts, nor has a row without detail', () => {
  const columns = { outcome: 'not_run', latency: null, status_code: null, error_message: null } as const;
  expect(readResultDetail(abstentionDetail('no-agent'), columns)).toEqual({
    reason: 'no-agent',
    attempts: [],
  });
  expect(readResultDetail(null, columns)).toEqual({ attempts: [] });
});
