import { LIMITS } from '@svc/shared/limits.ts';
import {
  type CheckResult,
  checkResult,
  type Outcome,
  resultBatch,
} from '@svc/shared/messages/check-result.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { HeldJobs } from './held-jobs.ts';
import { LastOutcomes, Reporter } from './reporter.ts';
import type { Batch } from './result-outbox.ts';

const OWN = 'svc.results.hosta-fra';
const NAMED = `${OWN}.s0`;

type Bench = { reporter: Reporter; clock: FakeClock; held: HeldJobs; batches: Batch[] };

function bench(): Bench {
  const clock = new FakeClock();
  const held = new HeldJobs(clock);
  const batches: Batch[] = [];
  const outbox = { addBatch: (batch: Batch) => void batches.push(batch) };
  const reporter = new Reporter({ agentId: 'agent "1"', outbox, held, clock });
  return { reporter, clock, held, batches };
}

/** Subject and monitors of each batch so far. */
const sent = (batches: readonly Batch[]): [subject: string, monitors: number[]][] =>
  batches.map(({ subject, text }) => {
    const { results } = resultBatch.parse(JSON.parse(text));
    return [subject, results.map((each) => checkResult.parse(each).monitor)];
  });

/** Reports `passed` for each monitor, in messages that the test ignores. */
function knownBefore({ reporter, batches }: Bench, monitors: number): void {
  for (let monitor = 1; monitor <= monitors; monitor += 1) reporter.report(result(monitor), NAMED);
  reporter.flush();
  batches.length = 0;
}

function result(monitor: number, more: Partial<CheckResult> = {}): CheckResult {
  return {
    monitor,
    version: 1,
    slot: 5,
    token: 't',
    outcome: 'passed',
    started_at: 9,
    attempts: [],
    ...more,
  };
}

test('a message says which agent reports', () => {
  const { reporter, batches } = bench();
  reporter.report(result(1), NAMED);
  reporter.flush();
  expect(resultBatch.parse(JSON.parse(batches[0]?.text ?? '')).agent).toBe('agent "1"');
});

test('no message is longer than 256 KiB', () => {
  const { reporter, clock, batches } = bench();
  const attempt = { outcome: 'failed', started_ms: 0, latency: 1, error_message: 'ü'.repeat(500) } as const;
  for (let monitor = 1; monitor <= 64; monitor += 1) {
    reporter.report(result(monitor, { outcome: 'failed', attempts: Array(11).fill(attempt) }), NAMED);
  }
  clock.advance(250);
  expect(batches.length).toBeGreaterThan(1);
  expect(batches.reduce((sum, batch) => sum + batch.results, 0)).toBe(64);
  for (const { text, bytes } of batches) {
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LIMITS.messageBytes);
    expect(Math.abs(Buffer.byteLength(text) - bytes)).toBeLessThanOrEqual(2);
  }
});

test('a job is held until its result is kept, and not after a `not_run`', () => {
  const { reporter, held, batches } = bench();
  for (const monitor of [1, 2]) held.holdJob(monitor, 5, 100);
  reporter.report(result(1), NAMED);
  reporter.report(result(2, { outcome: 'not_run', reason: 'overloaded' }), NAMED);
  reporter.flush();
  expect([held.stateOf(1, 5), held.stateOf(2, 5)]).toEqual(['held', 'unknown']);
  batches[0]?.onSettled('kept');
  expect(held.size).toBe(0);
  expect([held.stateOf(1, 5), held.stateOf(2, 5)]).toEqual(['finished', 'unknown']);
});

test('the late acknowledgement of a `not_run` does not release the job that was sent again', () => {
  const { reporter, held, batches } = bench();
  reporter.report(result(1, { outcome: 'not_run', reason: 'overloaded' }), NAMED);
  reporter.flush();
  held.holdJob(1, 5, 100);
  batches[0]?.onSettled('kept');
  expect([held.stateOf(1, 5), held.bytes]).toEqual(['held', 100]);
});

test('a job whose result was dropped may be offered again', () => {
  const { reporter, held, batches } = bench();
  held.holdJob(1, 5, 100);
  reporter.report(result(1), NAMED);
  reporter.flush();
  batches[0]?.onSettled('dropped');
  expect(held.stateOf(1, 5)).toBe('unknown');
});

describe('messages', () => {
  test('results that repeat the last ones, and passes of new monitors, wait up to 250 ms', () => {
    const started = bench();
    knownBefore(started, 2);
    const { reporter, clock, batches } = started;
    reporter.report(result(1), NAMED);
    clock.advance(200);
    reporter.report(result(2), NAMED);
    reporter.report(result(9), NAMED);
    clock.advance(49);
    expect(batches).toHaveLength(0);
    clock.advance(1);
    expect(sent(batches)).toEqual([[NAMED, [1, 2, 9]]]);
    expect(clock.pendingTimers).toBe(0);
  });

  test.each([
    ['a failure', { outcome: 'failed' }],
    ['a slow answer', { outcome: 'degraded' }],
    ['the first result of a version', { version: 2 }],
    ['the first result of a monitor, where it did not pass', { monitor: 9, outcome: 'failed' }],
  ] as const)('%s is sent within 10 ms, with what waits beside it', (_, change) => {
    const started = bench();
    knownBefore(started, 2);
    const { reporter, clock, batches } = started;
    reporter.report(result(1), NAMED);
    clock.advance(100);
    reporter.report(result(2, change), NAMED);
    clock.advance(10);
    expect(batches.map((batch) => batch.results)).toEqual([2]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('a recovery is sent at once too; a repeated outcome is not', () => {
    const started = bench();
    knownBefore(started, 1);
    const { reporter, clock, batches } = started;
    const sentAfter = (outcome: CheckResult['outcome']): number => {
      const count = batches.length;
      reporter.report(result(1, { outcome }), NAMED);
      const from = clock.monotonic();
      while (batches.length === count) clock.advance(1);
      return clock.monotonic() - from;
    };
    expect(sentAfter('failed')).toBeLessThanOrEqual(10);
    expect(sentAfter('failed')).toBe(250);
    expect(sentAfter('not_run')).toBe(250);
    expect(sentAfter('failed')).toBe(250);
    expect(sentAfter('passed')).toBeLessThanOrEqual(10);
  });

  test('many failures at the same time make few messages', () => {
    const started = bench();
    knownBefore(started, 600);
    const { reporter, clock, batches } = started;
    for (let monitor = 1; monitor <= 600; monitor += 1) {
      reporter.report(result(monitor, { outcome: 'failed' }), NAMED);
    }
    clock.advance(10);
    expect(batches.map((batch) => batch.results)).toEqual([512, 88]);
  });

  test('the result after a dropped one is news', () => {
    const started = bench();
    knownBefore(started, 1);
    const { reporter, clock, batches } = started;
    reporter.report(result(1), NAMED);
    reporter.flush();
    batches[0]?.onSettled('dropped');
    reporter.report(result(1), NAMED);
    clock.advance(10);
    expect(batches).toHaveLength(2);
  });

  test('each subject has its own messages', () => {
    const { reporter, clock, batches } = bench();
    reporter.report(result(1), `${OWN}.s0`);
    reporter.report(result(3), `${OWN}.s1`);
    reporter.report(result(4), OWN);
    reporter.report(result(5), `${OWN}.s0`);
    clock.advance(250);
    expect(sent(batches).toSorted()).toEqual([
      [OWN, [4]],
      [`${OWN}.s0`, [1, 5]],
      [`${OWN}.s1`, [3]],
    ]);
  });
});

test('in any order of events, each result is sent once, on its subject, in order and within its bounds', () => {
  const report = fc.record({
    subject: fc.constantFrom(OWN, NAMED),
    monitor: fc.integer({ min: 1, max: 5 }),
    outcome: fc.constantFrom('passed', 'degraded', 'failed', 'not_run'),
    times: fc.constantFrom(1, 1, 1, 70, 600),
    waitMs: fc.integer({ min: 0, max: 120 }),
  });
  fc.assert(
    fc.property(fc.array(report, { maxLength: 20 }), (reports) => {
      const { reporter, clock, batches } = bench();
      const expected = new Map<string, number[]>();
      let slot = 0;
      for (const { subject, monitor, outcome, times, waitMs } of reports) {
        for (let index = 0; index < times; index += 1) {
          slot += 1;
          reporter.report(result(monitor, { outcome, slot }), subject);
          expected.set(subject, [...(expected.get(subject) ?? []), slot]);
        }
        clock.advance(waitMs);
      }
      clock.advance(250);
      const found = new Map<string, number[]>();
      for (const { subject, text, bytes, results } of batches) {
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LIMITS.messageBytes);
        expect(bytes).toBeGreaterThanOrEqual(Buffer.byteLength(text));
        const read = resultBatch.parse(JSON.parse(text)).results.map((each) => checkResult.parse(each).slot);
        expect(read).toHaveLength(results);
        found.set(subject, [...(found.get(subject) ?? []), ...read]);
      }
      expect(found).toEqual(expected);
      expect(clock.pendingTimers).toBe(0);
    }),
    { numRuns: 60 },
  );
});

const HOUR = 3_600_000;

const found = (monitor: number, outcome: Outcome, version = 1) => ({ monitor, version, outcome });

test('a result is news when it differs from the last of its monitor and version', () => {
  const last = new LastOutcomes(new FakeClock());
  expect(last.isNews(found(1, 'failed'))).toBe(true);
  expect(last.isNews(found(1, 'passed'))).toBe(true);
  expect(last.isNews(found(1, 'passed'))).toBe(false);
  expect(last.isNews(found(2, 'degraded'))).toBe(true);
  expect(last.isNews(found(1, 'failed'))).toBe(true);
  expect(last.isNews(found(1, 'failed'))).toBe(false);
  expect(last.isNews(found(1, 'failed', 2))).toBe(true);
  expect(last.isNews(found(1, 'passed', 2))).toBe(true);
});

test('the first result of a monitor is no news when it passed', () => {
  const last = new LastOutcomes(new FakeClock());
  expect(last.isNews(found(1, 'passed'))).toBe(false);
  expect(last.isNews(found(1, 'passed', 2))).toBe(true);
});

test('not_run is never news, and the result after it is compared with the one before it', () => {
  const last = new LastOutcomes(new FakeClock());
  expect(last.isNews(found(1, 'not_run'))).toBe(false);
  expect(last.isNews(found(1, 'failed'))).toBe(true);
  expect(last.isNews(found(1, 'not_run'))).toBe(false);
  expect(last.isNews(found(1, 'failed'))).toBe(false);
});

test('a monitor is remembered over the longest period, and forgotten when it is not seen for long', () => {
  const clock = new FakeClock();
  const last = new LastOutcomes(clock);
  last.isNews(found(1, 'failed'));
  last.isNews(found(2, 'failed'));
  for (let hours = 0; hours < 5; hours += 1) {
    clock.advance(HOUR);
    expect(last.isNews(found(1, 'failed'))).toBe(false);
  }
  expect(last.isNews(found(2, 'failed'))).toBe(true);
  clock.advance(5 * HOUR);
  expect(last.isNews(found(1, 'failed'))).toBe(true);
  expect(last.size).toBe(1);
});

test('however many monitors there are, it keeps a bounded number, the latest among them', () => {
  const last = new LastOutcomes(new FakeClock(), 100);
  for (let monitor = 1; monitor <= 1_000; monitor += 1) last.isNews(found(monitor, 'failed'));
  expect(last.size).toBeLessThanOrEqual(200);
  expect(last.isNews(found(950, 'failed'))).toBe(false);
  expect(last.isNews(found(1, 'failed'))).toBe(true);
});

test('forgetting an unknown monitor stores nothing', () => {
  const last = new LastOutcomes(new FakeClock(), 100);
  for (let monitor = 1; monitor <= 1_000; monitor += 1) last.forgetMonitor(monitor);
  expect(last.size).toBe(0);
});

test('the next verdict on a monitor that was forgotten is news, whatever it is', () => {
  const last = new LastOutcomes(new FakeClock());
  last.isNews(found(1, 'passed'));
  last.forgetMonitor(1);
  last.forgetMonitor(2);
  expect(last.isNews(found(1, 'passed'))).toBe(true);
  expect(last.isNews(found(1, 'passed'))).toBe(false);
  expect(last.isNews(found(2, 'failed'))).toBe(true);
});
