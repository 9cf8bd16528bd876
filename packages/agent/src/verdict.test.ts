import { describe, expect, test } from 'vitest';
import { outcomeOf, timedOut } from '../../../test/support/scripted-probe.ts';
import type { HeldBack } from './starvation.ts';
import { judgeAttempt } from './verdict.ts';

const stalled = (loopDelayMs: number) => (): HeldBack => ({ loopDelayMs, isWaiting: false });
const waiting = (): HeldBack => ({ loopDelayMs: 0, isWaiting: true });
const unasked = (): HeldBack => {
  throw new Error('the counters are read for a verdict that does not depend on them');
};
const starved = { outcome: 'not_run', reason: 'agent-starved' };

describe('degraded', () => {
  test.each([
    [799, 800, 'passed'],
    [800, 800, 'passed'],
    [800.04, 800, 'passed'],
    [800.06, 800, 'degraded'],
    [60_000, 0, 'passed'],
  ])('%d ms with degraded_at %d is %s', (latency, degraded_at, outcome) => {
    expect(judgeAttempt(outcomeOf('passed', { latency }), { degraded_at }, stalled(0))).toEqual({ outcome });
  });

  test('a failure is never degraded', () => {
    expect(judgeAttempt(outcomeOf('failed', { latency: 900 }), { degraded_at: 800 }, unasked)).toEqual({
      outcome: 'failed',
    });
  });
});

describe('a starved agent', () => {
  test('cannot tell a time-out', () => {
    expect(judgeAttempt(timedOut(1_000), { degraded_at: 0 }, stalled(500))).toEqual(starved);
  });

  test('saw every other failure', () => {
    expect(judgeAttempt(outcomeOf('failed'), { degraded_at: 0 }, unasked)).toEqual({ outcome: 'failed' });
  });

  test('cannot tell a slow target when its own delay explains the excess', () => {
    expect(judgeAttempt(outcomeOf('passed', { latency: 1_200 }), { degraded_at: 800 }, stalled(500))).toEqual(
      starved,
    );
  });

  test('can tell one when the delay does not explain it', () => {
    const verdict = judgeAttempt(outcomeOf('passed', { latency: 1_301 }), { degraded_at: 800 }, stalled(500));
    expect(verdict).toEqual({ outcome: 'degraded' });
  });
});

describe('an agent that waited for a CPU for a large part of the attempt', () => {
  test('cannot tell a time-out', () => {
    expect(judgeAttempt(timedOut(1_000), { degraded_at: 0 }, waiting)).toEqual(starved);
  });

  test('cannot tell a slow target', () => {
    const found = outcomeOf('passed', { latency: 9_000 });
    expect(judgeAttempt(found, { degraded_at: 800 }, waiting)).toEqual(starved);
  });

  test('saw what was in time, and every other failure', () => {
    const inTime = outcomeOf('passed', { latency: 799 });
    expect(judgeAttempt(inTime, { degraded_at: 800 }, unasked)).toEqual({ outcome: 'passed' });
    expect(judgeAttempt(outcomeOf('failed'), { degraded_at: 800 }, unasked)).toEqual({ outcome: 'failed' });
  });
});

test('what could not be probed keeps its reason', () => {
  const found = outcomeOf('not_run', { reason: 'egress-denied' });
  expect(judgeAttempt(found, { degraded_at: 0 }, unasked)).toEqual({
    outcome: 'not_run',
    reason: 'egress-denied',
  });
});
