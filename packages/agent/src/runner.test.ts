import type { Check } from '@svc/shared/messages/check.ts';
import type { CheckJob } from '@svc/shared/messages/check-job.ts';
import { type CheckResult, checkResult } from '@svc/shared/messages/check-result.ts';
import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { FakeClock, settle } from '../../../test/support/fake-clock.ts';
import { outcomeOf, ScriptedProbe, tcpCheck, timedOut } from '../../../test/support/scripted-probe.ts';
import { createMetrics } from './metrics.ts';
import { Runner } from './runner.ts';

type Bench = {
  runner: Runner;
  probe: ScriptedProbe;
  clock: FakeClock;
  results: CheckResult[];
  /** What the event loop's stalls are said to be. */
  loop: { delay: number };
  /** Ends the n-th attempt (from 0) and lets the runner react. */
  end(attempt: number, outcome: Parameters<ScriptedProbe['attempts'][number]['end']>[0]): Promise<void>;
};

function bench(options: { concurrency?: number; obeysStop?: boolean } = {}): Bench {
  const clock = new FakeClock();
  const probe = new ScriptedProbe({ obeysStop: options.obeysStop ?? true });
  const results: CheckResult[] = [];
  const loop = { delay: 0 };
  const runner = new Runner({
    probes: probe.set.probes,
    concurrency: options.concurrency ?? 10,
    clock,
    starvation: { delaySince: () => loop.delay },
    random: () => 0.5,
    metrics: createMetrics(),
    log: pino({ level: 'silent' }),
    onResult: (result) => {
      // What is reported must always be what the coordinator can read.
      results.push(checkResult.parse(JSON.parse(JSON.stringify(result))));
    },
  });
  runner.start();
  return {
    runner,
    probe,
    clock,
    results,
    loop,
    async end(attempt, outcome) {
      probe.attempts[attempt]?.end(outcome);
      await settle();
    },
  };
}

let count = 0;

function job(more: Partial<Omit<CheckJob, 'check'>> & { check?: Partial<Check> } = {}): CheckJob {
  const monitor = ++count;
  const { check, ...rest } = more;
  return {
    monitor,
    version: 1,
    slot: 1_000,
    token: 'token',
    start_within_ms: 10_000,
    ...rest,
    check: { ...tcpCheck(), ...check } as Check,
  };
}

describe('one check', () => {
  test('carries its job, its times and what the probe found', async () => {
    const { runner, clock, results, end } = bench();
    const given = job({ version: 4, slot: 77_000, token: 'proof', check: { timeout: 2_500 } });
    const startedAt = clock.wall();
    runner.submit(given);
    expect(runner.running).toBe(1);
    await end(
      0,
      outcomeOf('passed', { latency: 12.34, phases: { dns: 2.29, connect: 10.05 }, statusCode: 204 }),
    );
    expect(results).toEqual([
      {
        monitor: given.monitor,
        version: 4,
        slot: 77_000,
        token: 'proof',
        outcome: 'passed',
        started_at: startedAt,
        latency: 12.3,
        phases: { dns: 2.3, connect: 10 },
        status_code: 204,
        attempts: [{ outcome: 'passed', started_ms: 0, latency: 12.3, status_code: 204 }],
      },
    ]);
    expect(runner.running).toBe(0);
  });

  test('gives the probe its time-out', async () => {
    const { runner, probe } = bench();
    runner.submit(job({ check: { timeout: 2_500 } }));
    expect(probe.attempts[0]?.context.timeoutMs).toBe(2_500);
  });

  test('retries a failure after growing waits and keeps every attempt', async () => {
    const { runner, clock, probe, results, end } = bench();
    runner.submit(job({ check: { retry: 2 } }));
    clock.advance(5);
    await end(0, outcomeOf('failed', { latency: 5, errorMessage: 'refused' }));
    expect([runner.running, runner.pending]).toEqual([0, 1]);
    clock.advance(249);
    expect(probe.attempts).toHaveLength(1);
    clock.advance(1);
    expect(probe.attempts).toHaveLength(2);
    clock.advance(7);
    await end(1, outcomeOf('failed', { latency: 7 }));
    clock.advance(399);
    expect(probe.attempts).toHaveLength(2);
    clock.advance(1);
    await end(2, outcomeOf('passed', { latency: 3 }));
    expect(results[0]).toMatchObject({
      outcome: 'passed',
      latency: 3,
      attempts: [
        { outcome: 'failed', started_ms: 0, latency: 5, error_message: 'refused' },
        { outcome: 'failed', started_ms: 255, latency: 7 },
        { outcome: 'passed', started_ms: 662, latency: 3 },
      ],
    });
  });

  test.each([0, 1, 10])('with retry %i makes that many extra attempts before it is failed', async (retry) => {
    const { runner, clock, probe, results } = bench();
    runner.submit(job({ check: { retry } }));
    for (let attempt = 0; results.length === 0 && attempt < 20; attempt++) {
      probe.attempts[attempt]?.end(timedOut(1_000));
      await clock.advanceSettling(6_000);
    }
    expect(probe.attempts).toHaveLength(retry + 1);
    expect(results[0]).toMatchObject({ outcome: 'failed', timed_out: true });
    expect(results[0]?.attempts).toHaveLength(retry + 1);
  });

  test('does not retry a degraded success or what could not be probed', async () => {
    const { runner, results, probe, end } = bench();
    runner.submit(job({ check: { retry: 3, degraded_at: 100 } }));
    await end(0, outcomeOf('passed', { latency: 101 }));
    runner.submit(job({ check: { retry: 3 } }));
    await end(1, outcomeOf('not_run', { reason: 'egress-denied', errorMessage: 'denied' }));
    expect(results.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ['degraded', undefined],
      ['not_run', 'egress-denied'],
    ]);
    expect(probe.attempts).toHaveLength(2);
  });

  test('a time-out while the agent was starved is not run', async () => {
    const { runner, loop, results, end } = bench();
    runner.submit(job({ check: { retry: 3 } }));
    loop.delay = 600;
    await end(0, timedOut(1_000));
    expect(results[0]).toMatchObject({ outcome: 'not_run', reason: 'agent-starved' });
  });

  test('a probe that breaks its contract is our defect, not the target’s', async () => {
    const { runner, probe, results } = bench();
    runner.submit(job());
    probe.attempts[0]?.reject(new Error('a bug'));
    await settle();
    expect(results[0]).toMatchObject({
      outcome: 'not_run',
      reason: 'internal-error',
      error_message: 'a bug',
    });
  });

  test('a probe that never settles is given up, and its place is free again', async () => {
    const { runner, clock, results, end } = bench({ concurrency: 1 });
    runner.submit(job({ check: { timeout: 1_000 } }));
    clock.advance(10_900);
    expect(results).toHaveLength(0);
    clock.advance(500);
    expect(results[0]).toMatchObject({ outcome: 'not_run', reason: 'internal-error' });
    expect(runner.running).toBe(0);
    await end(0, outcomeOf('passed'));
    expect(results).toHaveLength(1);
  });

  test('messages are cut to what a result may carry', async () => {
    const { runner, results, end } = bench();
    runner.submit(job());
    await end(0, outcomeOf('failed', { errorMessage: 'x'.repeat(2_000) }));
    expect(results[0]?.error_message).toHaveLength(500);
  });
});

describe('capacity', () => {
  test('counts attempts in progress, not waits between them', async () => {
    const { runner, probe, end } = bench({ concurrency: 1 });
    runner.submit(job({ check: { retry: 1 } }));
    runner.submit(job());
    expect(probe.attempts).toHaveLength(1);
    await end(0, outcomeOf('failed'));
    expect(probe.attempts).toHaveLength(2);
  });

  test('goes to the oldest slot, retries included', async () => {
    const { runner, clock, probe, end } = bench({ concurrency: 1 });
    const slots = (): (number | undefined)[] => probe.attempts.map(({ check }) => check.timeout);
    const submit = (slot: number, retry = 0): void =>
      runner.submit(job({ slot, check: { timeout: slot, retry } }));
    submit(100, 1);
    submit(300);
    submit(200);
    await end(0, outcomeOf('failed'));
    clock.advance(250);
    await end(1, outcomeOf('passed'));
    await end(2, outcomeOf('passed'));
    await end(3, outcomeOf('passed'));
    expect(slots()).toEqual([100, 200, 100, 300]);
  });

  test('a check whose turn does not come in time is not run, one that was begun is brought to its end', async () => {
    const { runner, clock, results, end, probe } = bench({ concurrency: 1 });
    runner.submit(job({ slot: 5, check: { retry: 1, timeout: 100_000 } }));
    const late = job({ slot: 6, start_within_ms: 1_000 });
    runner.submit(late);
    clock.advance(1_000);
    expect(results).toHaveLength(0);
    clock.advance(300);
    expect(results).toMatchObject([
      { monitor: late.monitor, outcome: 'not_run', reason: 'overloaded', attempts: [] },
    ]);
    runner.submit(job({ slot: 1, check: { timeout: 100_000 } }));
    await end(0, outcomeOf('failed'));
    clock.advance(60_000);
    await end(1, outcomeOf('passed'));
    await end(2, outcomeOf('passed'));
    expect(probe.attempts).toHaveLength(3);
    expect(results.map(({ outcome }) => outcome)).toEqual(['not_run', 'passed', 'passed']);
  });

  test('at most half of it goes to monitors whose last attempt timed out', async () => {
    const { runner, probe, end } = bench({ concurrency: 4 });
    for (let index = 0; index < 10; index++) runner.submit(job({ slot: index, slow: true }));
    expect(runner.running).toBe(2);
    for (let index = 0; index < 3; index++) runner.submit(job({ slot: 100, check: { timeout: 7 } }));
    expect(runner.running).toBe(4);
    await end(0, timedOut(1_000));
    // The place that is free now goes to the oldest slot that may have it.
    expect(probe.attempts[4]?.check.timeout).toBe(1_000);
    await end(2, outcomeOf('passed'));
    expect(probe.attempts[5]?.check.timeout).toBe(7);
    expect(runner.running).toBe(4);
  });

  test('a check that timed out is retried within the bounded half', async () => {
    const { runner, clock, end } = bench({ concurrency: 2 });
    runner.submit(job({ check: { retry: 1, timeout: 60_000 } }));
    runner.submit(job({ check: { retry: 1, timeout: 60_000 } }));
    await end(0, timedOut(1_000));
    await end(1, timedOut(1_000));
    clock.advance(5_000);
    expect([runner.running, runner.pending]).toEqual([1, 1]);
  });

  test('whatever comes in whatever order: never above capacity, slow never above half, no place left idle, one result each', async () => {
    const arrival = fc.record({
      slot: fc.integer({ min: 0, max: 50 }),
      slow: fc.boolean(),
      retry: fc.integer({ min: 0, max: 2 }),
      ends: fc.constantFrom<'passed' | 'failed' | 'timed-out'>('passed', 'failed', 'timed-out'),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(arrival, { maxLength: 25 }),
        fc.integer({ min: 1, max: 6 }),
        fc.infiniteStream(fc.nat()),
        async (arrivals, concurrency, choices) => {
          const { runner, clock, probe, results } = bench({ concurrency });
          const slow = new Set<Check>();
          const ended = new Set<number>();
          const ends = new Map<Check, (typeof arrivals)[number]['ends']>();
          const given: CheckJob[] = [];
          const check = (): void => {
            const running = probe.attempts.filter((_, index) => !ended.has(index));
            expect(runner.running).toBe(running.length);
            expect(running.length).toBeLessThanOrEqual(concurrency);
            const slowRunning = running.filter((attempt) => slow.has(attempt.check)).length;
            expect(slowRunning).toBeLessThanOrEqual(Math.max(1, Math.floor(concurrency / 2)));
            if (running.length === concurrency) return;
            const begun = new Set(probe.attempts.map((attempt) => attempt.check));
            expect(given.filter((each) => !begun.has(each.check) && !slow.has(each.check))).toEqual([]);
          };
          for (const { slot, slow: isSlow, retry, ends: how } of arrivals) {
            const next = job({ slot, slow: isSlow, start_within_ms: 1e9, check: { retry, timeout: 1e5 } });
            given.push(next);
            ends.set(next.check, how);
            if (isSlow) slow.add(next.check);
            runner.submit(next);
            check();
          }
          for (const choice of choices) {
            const open = [...probe.attempts.keys()].filter((index) => !ended.has(index));
            const index = open[choice % Math.max(1, open.length)];
            if (index === undefined) {
              if (runner.pending === 0) break;
              // Nothing is running, so what is left can only be waiting for its back-off.
              await clock.advanceSettling(1_000);
              check();
              continue;
            }
            ended.add(index);
            const attempt = probe.attempts[index]!;
            const how = ends.get(attempt.check);
            if (how === 'timed-out') slow.add(attempt.check);
            else slow.delete(attempt.check);
            attempt.end(how === 'timed-out' ? timedOut(1_000) : outcomeOf(how ?? 'passed'));
            await settle();
            check();
          }
          expect(results.map(({ monitor }) => monitor).sort((a, b) => a - b)).toEqual(
            given.map(({ monitor }) => monitor),
          );
          expect(results.every(({ outcome }) => outcome !== 'not_run')).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe('run now', () => {
  test('makes one attempt whatever retry says, and records nothing', async () => {
    const { runner, results, probe, end } = bench();
    const answer = runner.runNow(tcpCheck({ retry: 5 }));
    await end(0, outcomeOf('failed', { latency: 4 }));
    expect(await answer).toMatchObject({ outcome: 'failed', latency: 4 });
    expect([probe.attempts.length, results.length]).toEqual([1, 0]);
  });

  test('says so when there is no room', async () => {
    const { runner } = bench({ concurrency: 1 });
    runner.submit(job());
    expect(await runner.runNow(tcpCheck())).toMatchObject({
      outcome: 'not_run',
      reason: 'overloaded',
      attempts: [],
    });
  });
});

describe('draining', () => {
  test('gives back at once what is not being attempted, and lets attempts finish without another', async () => {
    const { runner, clock, results, end } = bench({ concurrency: 2 });
    const [finishing, failing, queued] = [
      job({ slot: 1 }),
      job({ slot: 2, check: { retry: 3 } }),
      job({ slot: 3 }),
    ];
    for (const each of [finishing, failing, queued]) runner.submit(each);
    const drained = runner.drain(2_000);
    expect(results).toMatchObject([{ monitor: queued.monitor, outcome: 'not_run', reason: 'shutting-down' }]);
    await end(0, outcomeOf('passed'));
    await end(1, outcomeOf('failed'));
    await drained;
    expect(results.slice(1)).toMatchObject([
      { monitor: finishing.monitor, outcome: 'passed' },
      {
        monitor: failing.monitor,
        outcome: 'not_run',
        reason: 'shutting-down',
        attempts: [{ outcome: 'failed' }],
      },
    ]);
    expect(clock.pendingTimers).toBe(0);
    expect(await runner.runNow(tcpCheck())).toMatchObject({ outcome: 'not_run', reason: 'shutting-down' });
  });

  test('a check between two attempts comes back at once', async () => {
    const { runner, results, end } = bench();
    runner.submit(job({ check: { retry: 1 } }));
    await end(0, outcomeOf('failed'));
    await runner.drain(2_000);
    expect(results).toMatchObject([
      { outcome: 'not_run', reason: 'shutting-down', attempts: [{ outcome: 'failed' }] },
    ]);
  });

  test('stops the probes when the time is over', async () => {
    const { runner, clock, results } = bench();
    runner.submit(job());
    const drained = runner.drain(2_000);
    await clock.advanceSettling(1_999);
    expect(results).toHaveLength(0);
    await clock.advanceSettling(1);
    await drained;
    expect(results).toMatchObject([{ outcome: 'not_run', reason: 'shutting-down' }]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('does not wait for a probe that ignores the stop', async () => {
    const { runner, clock, results } = bench({ obeysStop: false });
    runner.submit(job());
    const drained = runner.drain(1_000);
    await clock.advanceSettling(1_500);
    await drained;
    expect(results).toMatchObject([{ outcome: 'not_run', reason: 'shutting-down' }]);
  });
});
