import { jobsSubject, resultsSubject } from '@svc/shared/messages/subjects.ts';
import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { FakeClock, settle } from '../../../test/support/fake-clock.ts';
import { MemoryBus } from '../../../test/support/memory-bus.ts';
import { httpCheck, ScriptedProbe, tcpCheck } from '../../../test/support/scripted-probe.ts';
import { HeldJobs } from './held-jobs.ts';
import { Intake, LateReading, readJob, readJobsMessage } from './intake.ts';
import { createMetrics } from './metrics.ts';
import { Runner } from './runner.ts';
import { Starvation } from './starvation.ts';

const REGION = 'hosta-fra';
/** The coordinator's clock is ahead of the agent's clock by this time, ms. */
const AHEAD_MS = 7_000;

/** An agent that takes jobs. Its clock advances only when the test advances it. */
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
   * Creates a message of jobs whose slots are `waits` ms ahead; by default, one job 400 ms ahead. The
   * returned function lets the agent read the message.
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
  /** Waits until one more attempt begins. Returns the time that passed, ms. */
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

test('a slow message to an idle agent waits for the full time that it states', async () => {
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

const RESULTS = 'svc.results.hosta-fra';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const job = (check: unknown): Record<string, unknown> => ({
  monitor: 1,
  version: 2,
  slot: 3,
  token: 't',
  start_within_ms: 4,
  check,
});

describe('a message of the jobs subject', () => {
  test('is a batch or a request to run now', () => {
    const batch = { v: 1, kind: 'jobs', jobs: [1, 'not read here'], results: RESULTS };
    expect(readJobsMessage(bytes(JSON.stringify(batch)))).toEqual(batch);
    const runNow = { v: 1, kind: 'run_now', run: 'r', check: tcpCheck() };
    const read = readJobsMessage(bytes(JSON.stringify(runNow)));
    if (typeof read === 'string' || read.kind !== 'run_now') throw new TypeError('it is not read');
    expect({ ...read, check: read.check.reveal() }).toEqual(runNow);
  });

  test.each([
    ['a later version', { v: 2 }, true],
    ['no version', { v: 0 }, false],
    ['512 jobs', { jobs: Array(512).fill(1) }, true],
    ['513 jobs', { jobs: Array(513).fill(1) }, false],
    ['no subject for results', { results: undefined }, false],
    ['a subject that is no text', { results: 1 }, false],
    ['a subject without end', { results: 'x'.repeat(257) }, false],
  ])('with %s', (_, change, isRead) => {
    const batch = { v: 1, kind: 'jobs', jobs: [1], results: RESULTS, ...change };
    expect(readJobsMessage(bytes(JSON.stringify(batch)))).toEqual(isRead ? batch : 'invalid');
  });

  test('may have exactly 1 MiB', () => {
    const around = JSON.stringify({ v: 1, kind: 'jobs', jobs: [''], results: RESULTS }).length;
    const message = (length: number): Uint8Array =>
      bytes(
        JSON.stringify({
          v: 1,
          kind: 'jobs',
          jobs: ['x'.repeat(length - around)],
          results: RESULTS,
        }),
      );
    expect(readJobsMessage(message(1_048_576))).toMatchObject({ kind: 'jobs' });
    expect(readJobsMessage(message(1_048_577))).toBe('oversized');
  });

  test('may be any text: nothing is thrown', () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), fc.json().map(bytes)), (data) => {
        expect(['not-json', 'invalid']).toContain(readJobsMessage(data));
      }),
    );
  });
});

describe('a job', () => {
  test('is read with what this version knows of it', () => {
    const read = readJob({
      ...job({ ...httpCheck('http://a.example/'), new_setting: 1 }),
      slow: true,
      later: 'x',
    });
    if (read.is !== 'job') throw new TypeError(`it is ${read.is}`);
    expect({ ...read.job, check: read.job.check.reveal() }).toEqual({
      ...job(httpCheck('http://a.example/')),
      slow: true,
    });
  });

  test.each([
    [0, true],
    [60_000, true],
    [60_001, false],
    [-1, false],
    [0.5, false],
    ['1', false],
  ])('that is to wait %j ms is read: %s', (wait_ms, isRead) => {
    expect(readJob({ ...job(tcpCheck()), wait_ms }).is).toBe(isRead ? 'job' : 'invalid');
  });

  test('with an unknown or broken check differs from a job that cannot be answered', () => {
    for (const type of ['icmp', 'tcp'])
      expect(readJob(job({ type }))).toMatchObject({
        is: 'unsupported',
        job: { monitor: 1, slot: 3, token: 't' },
      });
    expect(readJob({ ...job({ type: 'icmp' }), version: 0 })).toEqual({ is: 'invalid', key: [1, 3] });
    expect(readJob({ check: tcpCheck() })).toEqual({ is: 'invalid', key: null });
  });

  test('may be any value: nothing is thrown', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(readJob(value).is).toBe('invalid');
      }),
    );
  });
});

const SENT = 1_795_000_000_000;

/**
 * The delays that {@link LateReading} finds in messages, ms. One message arrives each second, after 20 ms on
 * the way. The message is read `lateMs` later, and the event loop may have stood still for `stallMs`.
 */
function read(lateMs: readonly number[], stallMs: number): number[] {
  const lateReading = new LateReading({ stallMs: () => stallMs });
  return lateMs.map((late, second) =>
    lateReading.of(SENT + second * 1_000, 5_000 + second * 1_000 + 20 + late),
  );
}

test('the delay beyond the quickest message is the time in which a message lay unread', () => {
  expect(read([0, 150, 30, 0], 200)).toEqual([0, 150, 30, 0]);
});

test('the delay is at most the time for which the event loop stood still', () => {
  expect(read([0, 150, 30], 100)).toEqual([0, 100, 30]);
  expect(read([0, 3_600_000], 0)).toEqual([0, 0]);
});

test('the first message shows no delay, and later ones are compared with the quickest', () => {
  expect(read([100, 150, 20, 100], 500)).toEqual([0, 50, 0, 80]);
});

test('a longer transfer counts as usual after a minute', () => {
  const late = [0, ...Array.from({ length: 65 }, () => 80)];
  const found = read(late, 500);
  expect(found.slice(1, 30)).toEqual(Array.from({ length: 29 }, () => 80));
  expect(found.at(-1)).toBe(0);
});

test('an old transfer is not compared, because the clocks may have drifted since', () => {
  const lateReading = new LateReading({ stallMs: () => 500 });
  const found = [0, 1, 2].map((hour) =>
    lateReading.of(SENT + hour * 3_600_000, 5_000 + hour * 3_600_090 + 20),
  );
  expect(found).toEqual([0, 0, 0]);
});
