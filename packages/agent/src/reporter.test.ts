import { LIMITS } from '@svc/shared/limits.ts';
import { type CheckResult, checkResult, resultBatch } from '@svc/shared/messages/check-result.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { HeldJobs } from './held-jobs.ts';
import { Reporter } from './reporter.ts';
import type { Batch } from './result-outbox.ts';

const OWN = 'svc.results.hosta-fra';
const NAMED = `${OWN}.s0`;

type Bench = { reporter: Reporter; clock: FakeClock; held: HeldJobs; batches: Batch[] };

function bench(): Bench {
  const clock = new FakeClock();
  const held = new HeldJobs(clock);
  const batches: Batch[] = [];
  const outbox = { add: (batch: Batch) => void batches.push(batch) };
  const reporter = new Reporter({ agentId: 'agent "1"', subject: OWN, outbox, held, clock });
  return { reporter, clock, held, batches };
}

/** Subject and monitors of each batch so far. */
const sent = (batches: readonly Batch[]): [subject: string, monitors: number[]][] =>
  batches.map(({ subject, text }) => {
    const { results } = resultBatch.parse(JSON.parse(text));
    return [subject, results.map((each) => checkResult.parse(each).monitor)];
  });

/** Lets each monitor have reported `passed`, in messages that are not looked at. */
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

test('results of jobs that named no subject share a message until the first has waited 50 ms', () => {
  const { reporter, clock, batches } = bench();
  reporter.report(result(1), null);
  clock.advance(49);
  reporter.report(result(2), null);
  expect(batches).toHaveLength(0);
  clock.advance(1);
  expect(batches).toHaveLength(1);
  const read = resultBatch.parse(JSON.parse(batches[0]?.text ?? ''));
  expect(read.agent).toBe('agent "1"');
  expect(read.results.map((each) => checkResult.parse(each).monitor)).toEqual([1, 2]);
  clock.advance(1_000);
  expect(batches).toHaveLength(1);
  expect(clock.pendingTimers).toBe(0);
});

test('a reason that 0.1 does not know goes only where the job named a subject', () => {
  const { reporter, batches } = bench();
  for (const subject of [null, NAMED]) {
    reporter.report(result(1, { outcome: 'not_run', reason: 'network-down' }), subject);
    reporter.report(result(2, { outcome: 'not_run', reason: 'agent-starved' }), subject);
  }
  reporter.flush();
  const reasons = batches.map(({ text }) =>
    resultBatch.parse(JSON.parse(text)).results.map((each) => checkResult.parse(each).reason),
  );
  expect(reasons).toEqual([
    ['internal-error', 'agent-starved'],
    ['network-down', 'agent-starved'],
  ]);
});

test('a message without a named subject is full with 64 results', () => {
  const { reporter, clock, batches } = bench();
  for (let monitor = 1; monitor <= 65; monitor += 1) reporter.report(result(monitor), null);
  expect(batches.map((batch) => batch.results)).toEqual([64]);
  clock.advance(50);
  expect(batches.map((batch) => batch.results)).toEqual([64, 1]);
  expect(new Set(batches.map(({ subject }) => subject))).toEqual(new Set([OWN]));
});

test('no message is longer than 256 KiB', () => {
  const { reporter, clock, batches } = bench();
  const attempt = { outcome: 'failed', started_ms: 0, latency: 1, error_message: 'ü'.repeat(500) } as const;
  for (let monitor = 1; monitor <= 64; monitor += 1) {
    reporter.report(result(monitor, { outcome: 'failed', attempts: Array(11).fill(attempt) }), null);
  }
  clock.advance(50);
  expect(batches.length).toBeGreaterThan(1);
  expect(batches.reduce((sum, batch) => sum + batch.results, 0)).toBe(64);
  for (const { text, bytes } of batches) {
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(LIMITS.messageBytes);
    expect(Math.abs(Buffer.byteLength(text) - bytes)).toBeLessThanOrEqual(2);
  }
});

test('a job is held until its result is kept, and only a verdict makes it finished', () => {
  const { reporter, held, batches } = bench();
  for (const monitor of [1, 2]) held.hold(monitor, 5, 100);
  reporter.report(result(1), null);
  reporter.report(result(2, { outcome: 'not_run', reason: 'overloaded' }), null);
  reporter.flush();
  expect(held.size).toBe(2);
  batches[0]?.onSettled('kept');
  expect(held.size).toBe(0);
  expect([held.stateOf(1, 5), held.stateOf(2, 5)]).toEqual(['finished', 'unknown']);
});

test('a job whose result was dropped may be offered again', () => {
  const { reporter, held, batches } = bench();
  held.hold(1, 5, 100);
  reporter.report(result(1), null);
  reporter.flush();
  batches[0]?.onSettled('dropped');
  expect(held.stateOf(1, 5)).toBe('unknown');
});

describe('where the job named a subject', () => {
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
  ] as const)('%s takes what waits with it within 10 ms', (_, change) => {
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

  test('a recovery goes at once too; what goes on is no news', () => {
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

  test('the last result counts also where its job named no subject', () => {
    const started = bench();
    const { reporter, clock, batches } = started;
    const namedSentAfter = (outcome: CheckResult['outcome']): number => {
      reporter.flush();
      const count = batches.length;
      reporter.report(result(1, { outcome }), NAMED);
      const from = clock.monotonic();
      while (batches.length === count) clock.advance(1);
      return clock.monotonic() - from;
    };
    reporter.report(result(1), null);
    expect(namedSentAfter('passed')).toBe(250);
    reporter.report(result(1, { outcome: 'failed' }), null);
    expect(namedSentAfter('passed')).toBeLessThanOrEqual(10);
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

  test('the result after one that was dropped is news', () => {
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

  test('each subject has its own messages, and what 0.1 reads is never among larger ones', () => {
    const { reporter, clock, batches } = bench();
    reporter.report(result(1), `${OWN}.s0`);
    reporter.report(result(2), null);
    reporter.report(result(3), `${OWN}.s1`);
    reporter.report(result(4), OWN);
    reporter.report(result(5), `${OWN}.s0`);
    clock.advance(250);
    expect(sent(batches).toSorted()).toEqual([
      [OWN, [2]],
      [OWN, [4]],
      [`${OWN}.s0`, [1, 5]],
      [`${OWN}.s1`, [3]],
    ]);
  });
});

test('whatever comes in which order: each result once, on its subject, in order, within its bounds', () => {
  const report = fc.record({
    subject: fc.constantFrom(null, OWN, NAMED),
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
          const to = subject ?? OWN;
          expected.set(to, [...(expected.get(to) ?? []), slot]);
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
      // On the region's own subject small and large messages may overtake each other.
      for (const slots of [expected, found]) slots.get(OWN)?.sort((a, b) => a - b);
      expect(found).toEqual(expected);
      expect(clock.pendingTimers).toBe(0);
    }),
    { numRuns: 60 },
  );
});
