import { LIMITS } from '@svc/shared/limits.ts';
import { type CheckResult, checkResult, resultBatch } from '@svc/shared/messages/check-result.ts';
import { expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { HeldJobs } from './held-jobs.ts';
import type { Batch } from './outbox.ts';
import { Reporter } from './reporter.ts';

type Bench = { reporter: Reporter; clock: FakeClock; held: HeldJobs; batches: Batch[] };

function bench(): Bench {
  const clock = new FakeClock();
  const held = new HeldJobs(clock);
  const batches: Batch[] = [];
  const outbox = { add: (batch: Batch) => void batches.push(batch) };
  return { reporter: new Reporter({ agentId: 'agent "1"', outbox, held, clock }), clock, held, batches };
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

test('results share a message until the first has waited 50 ms', () => {
  const { reporter, clock, batches } = bench();
  reporter.report(result(1));
  clock.advance(49);
  reporter.report(result(2));
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

test('a message is full with 64 results', () => {
  const { reporter, clock, batches } = bench();
  for (let monitor = 1; monitor <= 65; monitor++) reporter.report(result(monitor));
  expect(batches.map((batch) => batch.results)).toEqual([64]);
  clock.advance(50);
  expect(batches.map((batch) => batch.results)).toEqual([64, 1]);
});

test('no message is longer than 256 KiB', () => {
  const { reporter, clock, batches } = bench();
  const attempt = { outcome: 'failed', started_ms: 0, latency: 1, error_message: 'ü'.repeat(500) } as const;
  for (let monitor = 1; monitor <= 64; monitor++) {
    reporter.report(result(monitor, { outcome: 'failed', attempts: Array(11).fill(attempt) }));
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
  reporter.report(result(1));
  reporter.report(result(2, { outcome: 'not_run', reason: 'overloaded' }));
  reporter.flush();
  expect(held.size).toBe(2);
  batches[0]?.onSettled('kept');
  expect(held.size).toBe(0);
  expect([held.stateOf(1, 5), held.stateOf(2, 5)]).toEqual(['finished', 'unknown']);
});

test('a job whose result was dropped may be offered again', () => {
  const { reporter, held, batches } = bench();
  held.hold(1, 5, 100);
  reporter.report(result(1));
  reporter.flush();
  batches[0]?.onSettled('dropped');
  expect(held.stateOf(1, 5)).toBe('unknown');
});
