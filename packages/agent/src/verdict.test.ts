import { describe, expect, test } from 'vitest';
import { outcomeOf, timedOut } from '../../../test/support/scripted-probe.ts';
import { judgeAttempt } from './verdict.ts';

const NOW = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const starved = { outcome: 'not_run', reason: 'agent-starved' };

describe('degraded', () => {
  test.each([
    [799, 800, 'passed'],
    [800, 800, 'passed'],
    [800.04, 800, 'passed'],
    [800.06, 800, 'degraded'],
    [60_000, 0, 'passed'],
  ])('%d ms with degraded_at %d is %s', (latency, degraded_at, outcome) => {
    expect(judgeAttempt(outcomeOf('passed', { latency }), { degraded_at }, 0, NOW)).toEqual({ outcome });
  });

  test('a failure is never degraded', () => {
    expect(judgeAttempt(outcomeOf('failed', { latency: 900 }), { degraded_at: 800 }, 0, NOW)).toEqual({
      outcome: 'failed',
    });
  });
});

describe('a starved agent', () => {
  test('cannot tell a time-out', () => {
    expect(judgeAttempt(timedOut(1_000), { degraded_at: 0 }, 500, NOW)).toEqual(starved);
  });

  test('saw every other failure', () => {
    expect(judgeAttempt(outcomeOf('failed'), { degraded_at: 0 }, 5_000, NOW)).toEqual({ outcome: 'failed' });
  });

  test('cannot tell a slow target when its own delay explains the excess', () => {
    expect(judgeAttempt(outcomeOf('passed', { latency: 1_200 }), { degraded_at: 800 }, 500, NOW)).toEqual(
      starved,
    );
  });

  test('can tell one when the delay does not explain it', () => {
    const verdict = judgeAttempt(outcomeOf('passed', { latency: 1_301 }), { degraded_at: 800 }, 500, NOW);
    expect(verdict).toEqual({ outcome: 'degraded' });
  });
});

describe('a certificate that expires sooner than asked for', () => {
  const judge = (certificateExpiresAt: number | undefined, certificate_expiry_days: number | undefined) =>
    judgeAttempt(
      outcomeOf('passed', certificateExpiresAt === undefined ? {} : { certificateExpiresAt }),
      certificate_expiry_days === undefined
        ? { degraded_at: 0 }
        : { degraded_at: 0, certificate_expiry_days },
      0,
      NOW,
    );

  test.each([
    ['in 29.9 days', NOW + 29.9 * DAY_MS, 30, 'in 29 days', 'in 30 days'],
    ['a millisecond too soon', NOW + 30 * DAY_MS - 1, 30, 'in 29 days', 'in 30 days'],
    ['tomorrow', NOW + 1.5 * DAY_MS, 2, 'in 1 day,', 'in 2 days'],
    ['today', NOW + 60_000, 1, 'within a day', 'in 1 day'],
  ])('%s: a passing check is degraded and says when', (_, expiresAt, days, left, asked) => {
    const { outcome, message } = judge(expiresAt, days);
    expect(outcome).toBe('degraded');
    expect(message).toContain(left);
    expect(message).toContain(new Date(expiresAt).toISOString());
    expect(message?.endsWith(`sooner than ${asked}`)).toBe(true);
  });

  test.each([
    ['exactly as long as asked', NOW + 30 * DAY_MS, 30],
    ['nothing asked', NOW + 1, undefined],
    ['no certificate', undefined, 398],
    ['a date that cannot be read', Number.NaN, 398],
  ])('%s: it passes', (_, expiresAt, days) => {
    expect(judge(expiresAt, days)).toEqual({ outcome: 'passed' });
  });

  test('is seen by a starved agent too', () => {
    const found = outcomeOf('passed', { latency: 1_200, certificateExpiresAt: NOW + DAY_MS });
    const check = { degraded_at: 800, certificate_expiry_days: 7 };
    expect(judgeAttempt(found, check, 500, NOW).outcome).toBe('degraded');
  });

  test('changes nothing about a failure', () => {
    const found = outcomeOf('failed', { certificateExpiresAt: NOW + 1 });
    expect(judgeAttempt(found, { degraded_at: 0, certificate_expiry_days: 7 }, 0, NOW)).toEqual({
      outcome: 'failed',
    });
  });
});

test('what could not be probed keeps its reason', () => {
  const found = outcomeOf('not_run', { reason: 'egress-denied' });
  expect(judgeAttempt(found, { degraded_at: 0 }, 0, NOW)).toEqual({
    outcome: 'not_run',
    reason: 'egress-denied',
  });
});
