import { jobsSubject, resultsSubject } from '@svc/shared/messages/subjects.ts';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { FakeClock, settle } from '../../../test/support/fake-clock.ts';
import { MemoryBus } from '../../../test/support/memory-bus.ts';
import { ScriptedProbe, tcpCheck } from '../../../test/support/scripted-probe.ts';
import { HeldJobs } from './held-jobs.ts';
import { Intake } from './intake.ts';
import { createMetrics } from './metrics.ts';
import { Runner } from './runner.ts';
import { Starvation } from './starvation.ts';

const REGION = 'hosta-fra';
/** The coordinator's clock is this much ahead, ms. */
const AHEAD_MS = 7_000;

/** An agent that takes jobs, on a clock that stands still. */
function started() {
  const clock = new FakeClock();
  const bus = new MemoryBus();
  const probe = new ScriptedProbe();
  const ended: { monitor: number; reason: string | undefined }[] = [];
  const none = { waitedMs: null, throttledMs: null, pressedMs: null, idleMs: 0 };
  const counters = { read: () => none, close: () => {} };
  const starvation = new Starvation(clock, counters);
  const shared = { clock, metrics: createMetrics(), log: pino({ level: 'silent' }), concurrency: 100 };
  const runner = new Runner({
    ...shared,
    probes: probe.set.probes,
    starvation,
    network: { seen: () => null },
    random: () => 0.5,
    onResult: ({ monitor, reason }) => ended.push({ monitor, reason }),
  });
  const intake = new Intake({
    ...shared,
    bus,
    region: REGION,
    agentId: 'agent-1',
    runner,
    held: new HeldJobs(clock),
    starvation,
    onResult: () => {},
  });
  starvation.start();
  runner.start();
  intake.start();
  let monitor = 0;
  /**
   * The message of jobs whose slots are so far ahead, by default of one 400 ms ahead. The returned function lets the agent
   * read it.
   */
  const send = (waits: readonly number[] = [400], start_within_ms = 10_000) => {
    const jobs = waits.map((waitMs) => {
      monitor += 1;
      const slot = clock.wall() + AHEAD_MS + waitMs;
      const ahead = waitMs > 0 ? { wait_ms: waitMs } : {};
      return { monitor, version: 1, slot, token: 't', ...ahead, start_within_ms, check: tcpCheck() };
    });
    const message = { v: 1, kind: 'jobs', batch: `b${monitor}`, jobs, results: resultsSubject(REGION) };
    return async () => {
      bus.publish(jobsSubject(REGION), JSON.stringify(message));
      await settle();
    };
  };
  /** Time until one more attempt begins, ms. */
  const untilBegun = async () => {
    const before = probe.attempts.length;
    const from = clock.monotonic();
    while (probe.attempts.length === before) await clock.advanceSettling(1);
    return clock.monotonic() - from;
  };
  return { clock, send, untilBegun, ended, probe };
}

test('a check begins at its slot although its message lay unread while the event loop stood still', async () => {
  const { clock, send, untilBegun } = started();
  await send()();
  expect(await untilBegun()).toBeCloseTo(400, -1);
  await clock.advanceSettling(5_000);
  const arrive = send();
  clock.stall(250);
  await arrive();
  expect(await untilBegun()).toBeCloseTo(150, -1);
});

test('a message that was long on its way to an idle agent waits for as long as it says', async () => {
  const { clock, send, untilBegun } = started();
  await send()();
  await untilBegun();
  const arrive = send();
  await clock.advanceSettling(5_000);
  await arrive();
  expect(await untilBegun()).toBeCloseTo(400, -1);
});

test('a check whose message lay unread for longer than it may wait does not begin, whether its slot had come or not', async () => {
  const { clock, send, untilBegun, ended, probe } = started();
  await send()();
  await untilBegun();
  await clock.advanceSettling(5_000);
  const arrive = send([0, 50, 200], 120);
  clock.stall(250);
  await arrive();
  await clock.advanceSettling(1);
  expect(ended).toEqual([
    { monitor: 2, reason: 'overloaded' },
    { monitor: 3, reason: 'overloaded' },
  ]);
  expect(probe.attempts).toHaveLength(2);
});
