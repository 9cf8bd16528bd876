import { setImmediate } from 'node:timers/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Check } from '@svc/shared/messages/check.ts';
import type { CheckJob } from '@svc/shared/messages/check-job.ts';
import { type CheckResult, checkResult, type NotRunReason } from '@svc/shared/messages/check-result.ts';
import { Secret } from '@svc/shared/secret.ts';
import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { FakeClock, settle } from '../../../test/support/fake-clock.ts';
import { outcomeOf, ScriptedProbe, tcpCheck, timedOut } from '../../../test/support/scripted-probe.ts';
import { createMetrics } from './metrics.ts';
import type { Probe } from './probes/probe.ts';
import { attemptWaitMs, Runner, type RunnerParts } from './runner.ts';

const SUBJECT = 'svc.results.hosta-fra';

type Bench = {
  runner: Runner;
  /** Submits a job whose message was received now. */
  submit(job: CheckJob): void;
  probe: ScriptedProbe;
  clock: FakeClock;
  results: CheckResult[];
  /** The stalls of the event loop that the test simulates. */
  loop: { delay: number };
  /** Ends the n-th attempt (from 0) and lets the runner react. */
  end(attempt: number, outcome: Parameters<ScriptedProbe['attempts'][number]['end']>[0]): Promise<void>;
};

function bench(options: { concurrency?: number; obeysStop?: boolean } = {}): Bench {
  const clock = new FakeClock();
  const probe = new ScriptedProbe({ obeysStop: options.obeysStop ?? true });
  const results: CheckResult[] = [];
  const loop = { delay: 0 };
  const runner = runnerOf(clock, probe, {
    concurrency: options.concurrency ?? 10,
    starvation: starvationOf(() => loop.delay),
    onResult: (result) => {
      // The coordinator must be able to read every reported result.
      results.push(checkResult.parse(JSON.parse(JSON.stringify(result))));
    },
  });
  runner.start();
  return {
    runner,
    submit: (given) => runner.submit(given, clock.monotonic(), SUBJECT),
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

function runnerOf(clock: FakeClock, probe: ScriptedProbe, more: Partial<RunnerParts> = {}): Runner {
  return new Runner({
    probes: probe.set.probes,
    concurrency: 10,
    clock,
    starvation: starvationOf(() => 0),
    network: { seen: () => null },
    random: () => 0.5,
    metrics: createMetrics(),
    log: pino({ level: 'silent' }),
    onResult: () => {},
    ...more,
  });
}

function starvationOf(delay: () => number): RunnerParts['starvation'] {
  return {
    delaySince: delay,
    heldBackSince: () => ({ loopDelayMs: delay(), isWaiting: false, freeMs: 0, durationMs: 0 }),
    voided: () => {},
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
    check: new Secret({ ...tcpCheck(), ...check } as Check),
  };
}

describe('one check', () => {
  test('carries its job, its times and what the probe found', async () => {
    const { submit, runner, clock, results, end } = bench();
    const given = job({ version: 4, slot: 77_000, token: 'proof', check: { timeout: 2_500 } });
    const startedAt = clock.wall();
    submit(given);
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
    const { submit, probe } = bench();
    submit(job({ check: { timeout: 2_500 } }));
    expect(probe.attempts[0]?.context.timeoutMs).toBe(2_500);
  });

  test('retries a failure after growing waits and keeps every attempt', async () => {
    const { submit, runner, clock, probe, results, end } = bench();
    submit(job({ check: { retry: 2 } }));
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
    const { submit, clock, probe, results } = bench();
    submit(job({ check: { retry } }));
    for (let attempt = 0; results.length === 0 && attempt < 20; attempt += 1) {
      probe.attempts[attempt]?.end(timedOut(1_000));
      await clock.advanceSettling(6_000);
    }
    expect(probe.attempts).toHaveLength(retry + 1);
    expect(results[0]).toMatchObject({ outcome: 'failed', timed_out: true });
    expect(results[0]?.attempts).toHaveLength(retry + 1);
  });

  test('does not retry a degraded success or an attempt that was not run', async () => {
    const { submit, results, probe, end } = bench();
    submit(job({ check: { retry: 3, degraded_at: 100 } }));
    await end(0, outcomeOf('passed', { latency: 101 }));
    submit(job({ check: { retry: 3 } }));
    await end(1, outcomeOf('not_run', { reason: 'egress-denied', errorMessage: 'denied' }));
    expect(results.map(({ outcome, reason }) => [outcome, reason])).toEqual([
      ['degraded', undefined],
      ['not_run', 'egress-denied'],
    ]);
    expect(probe.attempts).toHaveLength(2);
  });

  test('a time-out while the agent was starved is not run', async () => {
    const { submit, loop, results, end } = bench();
    submit(job({ check: { retry: 3 } }));
    loop.delay = 600;
    await end(0, timedOut(1_000));
    expect(results[0]).toMatchObject({ outcome: 'not_run', reason: 'agent-starved' });
  });

  test('a probe that breaks its contract is our defect, not the target’s', async () => {
    const { submit, probe, results } = bench();
    submit(job());
    probe.attempts[0]?.reject(new Error('a bug'));
    await settle();
    expect(results[0]).toMatchObject({
      outcome: 'not_run',
      reason: 'internal-error',
      error_message: 'a bug',
    });
  });

  test('a probe that never settles is given up, and its place is free again', async () => {
    const { submit, runner, clock, results, end } = bench({ concurrency: 1 });
    submit(job({ check: { timeout: 1_000 } }));
    clock.advance(10_900);
    expect(results).toHaveLength(0);
    clock.advance(500);
    expect(results[0]).toMatchObject({ outcome: 'not_run', reason: 'internal-error' });
    expect(runner.running).toBe(0);
    await end(0, outcomeOf('passed'));
    expect(results).toHaveLength(1);
  });

  test('messages are cut to the limit of a result', async () => {
    const { submit, results, end } = bench();
    submit(job());
    await end(0, outcomeOf('failed', { errorMessage: 'x'.repeat(2_000) }));
    expect(results[0]?.error_message).toHaveLength(500);
  });
});

describe('capacity', () => {
  test('counts attempts in progress, not waits between them', async () => {
    const { submit, probe, end } = bench({ concurrency: 1 });
    submit(job({ check: { retry: 1 } }));
    submit(job());
    expect(probe.attempts).toHaveLength(1);
    await end(0, outcomeOf('failed'));
    expect(probe.attempts).toHaveLength(2);
  });

  test('goes to the oldest slot, retries included', async () => {
    const { submit, clock, probe, end } = bench({ concurrency: 1 });
    const slots = (): (number | undefined)[] => probe.attempts.map(({ check }) => check.timeout);
    const give = (slot: number, retry = 0): void => submit(job({ slot, check: { timeout: slot, retry } }));
    give(100, 1);
    give(300);
    give(200);
    await end(0, outcomeOf('failed'));
    clock.advance(250);
    await end(1, outcomeOf('passed'));
    await end(2, outcomeOf('passed'));
    await end(3, outcomeOf('passed'));
    expect(slots()).toEqual([100, 200, 100, 300]);
  });

  test('a turn of the event loop begins 8 attempts, and the next turns go on with the oldest slots', async () => {
    const { submit, runner, probe } = bench({ concurrency: 100 });
    for (let slot = 20; slot > 0; slot -= 1) submit(job({ slot, check: { timeout: slot } }));
    expect([runner.running, runner.pending]).toEqual([8, 12]);
    await setImmediate();
    expect([runner.running, runner.pending]).toEqual([16, 4]);
    await setImmediate();
    expect([runner.running, runner.pending]).toEqual([20, 0]);
    const oldestFirst = Array.from({ length: 12 }, (_, index) => index + 1);
    expect(probe.attempts.slice(8).map(({ check }) => check.timeout)).toEqual(oldestFirst);
  });

  test('checks are late after 250 ms, and behind after 5 s or when there is no room', async () => {
    const { submit, runner, clock, end } = bench({ concurrency: 1 });
    submit(job({ slot: 1 }));
    submit(job({ slot: 2, start_within_ms: 1_000 }));
    submit(job({ slot: 3, start_within_ms: 10_000 }));
    clock.advance(5_500);
    await end(0, outcomeOf('passed'));
    runner.turnedAway();
    // The first check began in time, the second was refused, and the third began
    // late. The fourth was turned away.
    expect(runner.takeStarts()).toEqual({ begun: 4, late: 3, behind: 2 });
    expect(runner.takeStarts()).toEqual({ begun: 0, late: 0, behind: 0 });
  });

  test('a check whose turn does not come in time is not run; a check that has begun is completed', async () => {
    const { submit, clock, results, end, probe } = bench({ concurrency: 1 });
    submit(job({ slot: 5, check: { retry: 1, timeout: 100_000 } }));
    const late = job({ slot: 6, start_within_ms: 1_000 });
    submit(late);
    clock.advance(1_000);
    expect(results).toHaveLength(0);
    clock.advance(300);
    expect(results).toMatchObject([
      { monitor: late.monitor, outcome: 'not_run', reason: 'overloaded', attempts: [] },
    ]);
    submit(job({ slot: 1, check: { timeout: 100_000 } }));
    await end(0, outcomeOf('failed'));
    clock.advance(60_000);
    await end(1, outcomeOf('passed'));
    await end(2, outcomeOf('passed'));
    expect(probe.attempts).toHaveLength(3);
    expect(results.map(({ outcome }) => outcome)).toEqual(['not_run', 'passed', 'passed']);
  });

  test('at most half of the capacity goes to monitors whose last attempt timed out', async () => {
    const { submit, runner, probe, end } = bench({ concurrency: 4 });
    for (let index = 0; index < 10; index += 1) submit(job({ slot: index, slow: true }));
    expect(runner.running).toBe(2);
    for (let index = 0; index < 3; index += 1) submit(job({ slot: 100, check: { timeout: 7 } }));
    expect(runner.running).toBe(4);
    await end(0, timedOut(1_000));
    // The free place goes to the oldest slot among the checks that may have it.
    expect(probe.attempts[4]?.check.timeout).toBe(1_000);
    await end(2, outcomeOf('passed'));
    expect(probe.attempts[5]?.check.timeout).toBe(7);
    expect(runner.running).toBe(4);
  });

  test('a check that timed out is retried within the bounded half', async () => {
    const { submit, runner, clock, end } = bench({ concurrency: 2 });
    submit(job({ check: { retry: 1, timeout: 60_000 } }));
    submit(job({ check: { retry: 1, timeout: 60_000 } }));
    await end(0, timedOut(1_000));
    await end(1, timedOut(1_000));
    clock.advance(5_000);
    expect([runner.running, runner.pending]).toEqual([1, 1]);
  });

  test('in any order of events: never above capacity, slow checks never above half, no place idle, one result each', async () => {
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
          const { submit, runner, clock, probe, results } = bench({ concurrency });
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
            expect(
              given.filter((each) => !begun.has(each.check.reveal()) && !slow.has(each.check.reveal())),
            ).toEqual([]);
          };
          for (const { slot, slow: isSlow, retry, ends: how } of arrivals) {
            const next = job({ slot, slow: isSlow, start_within_ms: 1e9, check: { retry, timeout: 1e5 } });
            given.push(next);
            ends.set(next.check.reveal(), how);
            if (isSlow) slow.add(next.check.reveal());
            submit(next);
            check();
          }
          for (const choice of choices) {
            const open = [...probe.attempts.keys()].filter((index) => !ended.has(index));
            const index = open[choice % Math.max(1, open.length)];
            if (index === undefined) {
              if (runner.pending === 0) break;
              // Nothing is running, so the remaining checks can only be waiting for their back-off.
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
    const answer = runner.runNow(new Secret(tcpCheck({ retry: 5 })));
    await end(0, outcomeOf('failed', { latency: 4 }));
    expect(await answer).toMatchObject({ outcome: 'failed', latency: 4 });
    expect([probe.attempts.length, results.length]).toEqual([1, 0]);
  });

  test('says so when there is no room', async () => {
    const { submit, runner } = bench({ concurrency: 1 });
    submit(job());
    expect(await runner.runNow(new Secret(tcpCheck()))).toMatchObject({
      outcome: 'not_run',
      reason: 'overloaded',
      attempts: [],
    });
  });
});

describe('draining', () => {
  test('gives back at once the checks without an attempt, and lets attempts finish without another', async () => {
    const { submit, runner, clock, results, end } = bench({ concurrency: 2 });
    const [finishing, failing, queued] = [
      job({ slot: 1 }),
      job({ slot: 2, check: { retry: 3 } }),
      job({ slot: 3 }),
    ];
    for (const each of [finishing, failing, queued]) submit(each);
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
    expect(await runner.runNow(new Secret(tcpCheck()))).toMatchObject({
      outcome: 'not_run',
      reason: 'shutting-down',
    });
  });

  test('a check between two attempts comes back at once', async () => {
    const { submit, runner, results, end } = bench();
    submit(job({ check: { retry: 1 } }));
    await end(0, outcomeOf('failed'));
    await runner.drain(2_000);
    expect(results).toMatchObject([
      { outcome: 'not_run', reason: 'shutting-down', attempts: [{ outcome: 'failed' }] },
    ]);
  });

  test('stops the probes when the time is over', async () => {
    const { submit, runner, clock, results } = bench();
    submit(job());
    const drained = runner.drain(2_000);
    await clock.advanceSettling(1_999);
    expect(results).toHaveLength(0);
    await clock.advanceSettling(1);
    await drained;
    expect(results).toMatchObject([{ outcome: 'not_run', reason: 'shutting-down' }]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('does not wait for a probe that ignores the stop', async () => {
    const { submit, runner, clock, results } = bench({ obeysStop: false });
    submit(job());
    const drained = runner.drain(1_000);
    await clock.advanceSettling(1_500);
    await drained;
    expect(results).toMatchObject([{ outcome: 'not_run', reason: 'shutting-down' }]);
  });
});

describe('a job that was sent ahead of its slot', () => {
  test('begins when its time has come, not before', () => {
    const { submit, runner, clock, probe } = bench();
    submit(job({ wait_ms: 1_500 }));
    expect([runner.running, runner.pending]).toEqual([0, 1]);
    clock.advance(1_499.9);
    expect(probe.attempts).toHaveLength(0);
    clock.advance(0.1);
    expect(probe.attempts).toHaveLength(1);
  });

  test('waits from the receipt of its message, not from its turn in the batch', () => {
    const { runner, clock, probe } = bench();
    const receivedAt = clock.monotonic();
    clock.advance(40);
    runner.submit(job({ wait_ms: 30 }), receivedAt, SUBJECT);
    expect(probe.attempts).toHaveLength(1);
    runner.submit(job({ wait_ms: 50 }), receivedAt, SUBJECT);
    clock.advance(9);
    expect(probe.attempts).toHaveLength(1);
    clock.advance(1);
    expect(probe.attempts).toHaveLength(2);
  });

  test('is not begun by a timer that fires early', () => {
    const early = new EarlyClock(0.7);
    const probe = new ScriptedProbe();
    const runner = runnerOf(early, probe);
    runner.submit(job({ wait_ms: 100 }), early.monotonic(), SUBJECT);
    early.advance(99.9);
    expect(probe.attempts).toHaveLength(0);
    early.advance(1.1);
    expect(probe.attempts).toHaveLength(1);
  });

  test('its start bound counts from the instant at which it may begin', async () => {
    const { submit, clock, probe, results, end } = bench({ concurrency: 1 });
    submit(job({ slot: 1, check: { timeout: 100_000 } }));
    const inTime = job({ slot: 2, wait_ms: 2_000, start_within_ms: 500 });
    const late = job({ slot: 3, wait_ms: 1_000, start_within_ms: 500 });
    submit(inTime);
    submit(late);
    clock.advance(2_400);
    expect(results).toMatchObject([{ monitor: late.monitor, outcome: 'not_run', reason: 'overloaded' }]);
    await end(0, outcomeOf('passed'));
    expect(probe.attempts).toHaveLength(2);
    expect(results).toHaveLength(2);
  });

  test('takes its place by the age of its slot', () => {
    const { submit, clock, probe } = bench({ concurrency: 2 });
    const jobs = [30, 10, 40, 20].map((slot) => job({ slot, wait_ms: 100, check: { timeout: slot } }));
    for (const each of jobs) submit(each);
    submit(job({ slot: 50, wait_ms: 60, check: { timeout: 50 } }));
    clock.advance(60);
    clock.advance(40);
    expect(probe.attempts.map(({ check }) => check.timeout)).toEqual([50, 10]);
  });

  test('comes back at once when the agent ends, and no timer is left', async () => {
    const { submit, runner, clock, probe, results } = bench();
    const waiting = job({ wait_ms: 30_000 });
    submit(waiting);
    await runner.drain(1_000);
    expect(results).toMatchObject([
      { monitor: waiting.monitor, outcome: 'not_run', reason: 'shutting-down', attempts: [] },
    ]);
    expect(clock.pendingTimers).toBe(0);
    clock.advance(60_000);
    expect(probe.attempts).toHaveLength(0);
  });

  test('in whatever order such jobs come, none begins early or more than 4 ms late, and all share one timer', async () => {
    const given = fc.array(
      fc.record({ at: fc.integer({ min: 0, max: 500 }), wait: fc.integer({ min: 0, max: 500 }) }),
      { maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(given, async (jobs) => {
        const { submit, clock, probe } = bench({ concurrency: 100 });
        const timers = clock.pendingTimers;
        const expected: number[] = [];
        for (const { at, wait } of jobs.toSorted((a, b) => a.at - b.at)) {
          clock.advance(at - clock.monotonic());
          submit(job({ wait_ms: wait, check: { timeout: 1 + at + wait } }));
          expected.push(at + wait);
          expect(clock.pendingTimers).toBeLessThanOrEqual(timers + 1);
        }
        const wrong: string[] = [];
        for (let now = clock.monotonic(); now <= 1_000; now += 1) {
          // The time-out of each check says when its attempt should begin.
          if (probe.attempts.some(({ check }) => check.timeout - 1 > now)) wrong.push(`early at ${now}`);
          const due = expected.filter((startAt) => startAt + 4 <= now);
          // At most 30 begin at once, and 8 in a turn of the event loop.
          for (let turn = 0; turn < 3 && probe.attempts.length < due.length; turn += 1) await setImmediate();
          if (probe.attempts.length < due.length) wrong.push(`late at ${now}`);
          clock.advance(1);
        }
        expect(wrong).toEqual([]);
      }),
      { numRuns: 40 },
    );
  });
});

test('a check that has ended is gone with the next collections of the young generation', async () => {
  setFlagsFromString('--expose-gc');
  const collect: NodeJS.GCFunction = runInNewContext('gc');
  const probe: Probe = { run: () => setImmediate(outcomeOf('passed')), close: async () => {} };
  const clock = new FakeClock();
  const runner = runnerOf(clock, new ScriptedProbe(), { probes: { http: probe, tcp: probe, dns: probe } });
  const oldBytes = (): number =>
    getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0;
  const kept: number[] = [];
  // These collections move the runner's own objects to the old generation.
  for (let each = 0; each < 3; each += 1) collect({ type: 'minor' });
  for (let burst = 0; burst < 1_000; burst += 1) {
    for (let each = 0; each < 32; each += 1) runner.submit(job(), clock.monotonic(), SUBJECT);
    while (runner.running + runner.pending > 0) await setImmediate();
    if (burst % 5 === 0) collect({ type: 'minor' });
    if (burst % 500 === 250) kept.push(oldBytes());
  }
  const [before = 0, after = 0] = kept;
  // 16,000 checks ended in between. When the runner kept its checks in a set, 10 MiB remained.
  expect((after - before) / 1_024 ** 2).toBeLessThan(2);
});

/** A clock whose timers fire early by a part of a millisecond, as Node's may. */
class EarlyClock extends FakeClock {
  readonly #earlyMs: number;

  constructor(earlyMs: number) {
    super();
    this.#earlyMs = earlyMs;
  }

  override after(delayMs: number, task: () => void): () => void {
    return super.after(Math.max(0, delayMs - this.#earlyMs), task);
  }
}

describe('a failure that may be our own network', () => {
  test.each([
    ['network-down', { outcome: 'not_run', reason: 'network-down' }],
    ['no-ipv6', { outcome: 'not_run', reason: 'no-ipv6' }],
    [null, { outcome: 'failed' }],
  ] as const)('keeps its place until it is known: %s', async (whyNotRun, expected) => {
    const asked = Promise.withResolvers<NotRunReason | null>();
    const clock = new FakeClock();
    const probe = new ScriptedProbe();
    const results: CheckResult[] = [];
    const runner = runnerOf(clock, probe, {
      network: { seen: () => asked.promise },
      onResult: (result) => void results.push(result),
    });
    runner.submit(job(), clock.monotonic(), SUBJECT);
    probe.attempts[0]?.end(outcomeOf('failed', { notConnected: true }));
    await settle();
    expect([runner.running, results]).toEqual([1, []]);
    // The probe of this attempt has ended, so the runner does not give it up as stuck.
    await clock.advanceSettling(60_000);
    expect([runner.running, results]).toEqual([1, []]);
    asked.resolve(whyNotRun);
    await settle();
    expect(results).toEqual([expect.objectContaining(expected)]);
    expect(runner.running).toBe(0);
  });

  test('is not run if this is not known yet when the agent ends', async () => {
    const clock = new FakeClock();
    const probe = new ScriptedProbe();
    const results: CheckResult[] = [];
    const runner = runnerOf(clock, probe, {
      network: { seen: () => new Promise(() => {}) },
      onResult: (result) => void results.push(result),
    });
    runner.submit(job(), clock.monotonic(), SUBJECT);
    probe.attempts[0]?.end(outcomeOf('failed', { notConnected: true }));
    await settle();
    const drained = runner.drain(0);
    await clock.advanceSettling(1_000);
    await drained;
    expect(results).toEqual([expect.objectContaining({ outcome: 'not_run', reason: 'shutting-down' })]);
  });
});

test.each([
  [1, 250],
  [2, 400],
  [3, 640],
  [7, 250 * 1.6 ** 6],
  [8, 5_000],
  [10, 5_000],
])('after %i failures the middle of the wait is %d ms', (failures, middle) => {
  expect(attemptWaitMs(failures, 0.5)).toBeCloseTo(middle, 6);
});

test('the wait stays within 20 % of the middle, never above 5 s, and grows with failures and chance', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (failures, random) => {
        const wait = attemptWaitMs(failures, random);
        const middle = 250 * 1.6 ** (failures - 1);
        expect(wait).toBeGreaterThanOrEqual(Math.min(5_000, middle * 0.8) - 1e-9);
        expect(wait).toBeLessThanOrEqual(Math.min(5_000, middle * 1.2) + 1e-9);
        expect(attemptWaitMs(failures + 1, random)).toBeGreaterThanOrEqual(wait);
        expect(attemptWaitMs(failures, 1 - Number.EPSILON)).toBeGreaterThanOrEqual(wait);
      },
    ),
  );
});
