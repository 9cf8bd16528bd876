import type { Check } from '@svc/shared/messages/check.ts';
import { type CheckResult, checkResult, resultBatch } from '@svc/shared/messages/check-result.ts';
import { type Heartbeat, heartbeat, type RunOutcome, runOutcome } from '@svc/shared/messages/heartbeat.ts';
import type { BusMessage } from '@svc/shared/nats/bus.ts';
import { connectBus, type NatsBus } from '@svc/shared/nats/nats-bus.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type NatsServer, startNatsServer } from '../../../test/support/nats-server.ts';
import { RegionStream } from '../../../test/support/region-stream.ts';
import { ScaledClock } from '../../../test/support/scaled-clock.ts';
import { httpCheck, outcomeOf, ScriptedProbe, tcpCheck } from '../../../test/support/scripted-probe.ts';
import { Agent } from './app.ts';

const log = pino({ level: 'silent' });
const REGION = 'hosta-fra';
const JOBS = `svc.jobs.${REGION}`;
const RESULTS = `svc.results.${REGION}`;

let server: NatsServer;
/** The coordinator's end of the connection: its bus, and the stream of the region's results. */
let bus: NatsBus;
let stream: RegionStream;
type Said = Heartbeat | RunOutcome;

let heard: Said[];
let listeners: Set<() => void>;
let agent: Agent;
let probe: ScriptedProbe;

beforeEach(async () => {
  server = await startNatsServer('max_payload: 4MB');
  bus = await connectBus({ url: server.url, name: 'coordinator', log });
  stream = new RegionStream(bus, 'hosta-fra');
  await stream.ensure({ maxBytes: 1e8 });
  heard = [];
  listeners = new Set();
  const hear = (read: { parse(value: unknown): Said }) => (message: BusMessage) => {
    heard.push(read.parse(JSON.parse(Buffer.from(message.data).toString())));
    for (const listener of listeners) listener();
  };
  bus.subscribe(`svc.heartbeats.${REGION}.*`, hear(heartbeat));
  bus.subscribe(`svc.runs.${REGION}.run-1`, hear(runOutcome));
  await bus.flush();
});

afterEach(async () => {
  await agent.stop();
  await bus.close();
  await server.dispose();
});

async function startAgent(
  options: { concurrency?: number; drainMs?: number; timeScale?: number } = {},
): Promise<void> {
  probe = new ScriptedProbe();
  agent = new Agent({
    config: {
      region: REGION,
      agentId: 'agent-1',
      concurrency: options.concurrency ?? 100,
      listen: { host: '127.0.0.1', port: 0 },
      metricsToken: undefined,
      drainMs: options.drainMs ?? 200,
    },
    bus: await connectBus({ url: server.url, name: 'agent', log }),
    probeSet: probe.set,
    clock: new ScaledClock(options.timeScale ?? 1),
    log,
  });
  await agent.start();
}

/** The first message, already received or still to come, that `isIt` accepts. */
function message<M extends Said>(isIt: (message: Said) => message is M): Promise<M> {
  return new Promise((resolve) => {
    const look = (): void => {
      const found = heard.find(isIt);
      if (found === undefined) return;
      listeners.delete(look);
      resolve(found);
    };
    listeners.add(look);
    look();
  });
}

const heartbeatWith = (isIt: (heartbeat: Heartbeat) => boolean): Promise<Heartbeat> =>
  message((found): found is Heartbeat => found.kind === 'heartbeat' && isIt(found));

/** Number of jobs that the agent has taken, and for each reason the number of jobs that it has refused. */
type Taken = { accepted: number; refused: Partial<Record<string, number>> };

/** Sends the jobs, and resolves when the agent has read all of them. */
async function send(jobs: unknown[], more: object = {}): Promise<Taken> {
  const { metrics } = agent;
  const before = { ...metrics.refused, accepted: metrics.accepted };
  const read = () =>
    metrics.accepted +
    metrics.droppedJobs +
    Object.values(metrics.refused).reduce((sum, each) => sum + each, 0);
  const all = read() + jobs.length;
  bus.publish(JOBS, JSON.stringify({ v: 1, kind: 'jobs', jobs, results: RESULTS, ...more }));
  while (read() < all) await new Promise((resolve) => setImmediate(resolve));
  const grown = Object.entries(metrics.refused).map(([reason, count]) => [
    reason,
    count - before[reason as keyof typeof metrics.refused],
  ]);
  return {
    accepted: metrics.accepted - before.accepted,
    refused: Object.fromEntries(grown.filter(([, count]) => count !== 0)),
  };
}

function job(monitor: number, slot: number, check: unknown = tcpCheck()): Record<string, unknown> {
  return { monitor, version: 1, slot, token: `token-${monitor}`, start_within_ms: 10_000, check };
}

function connected(): Promise<void> {
  return new Promise((resolve) => {
    if (bus.isConnected) return resolve();
    const stop = bus.onConnection(() => {
      stop();
      resolve();
    });
  });
}

/** Resolves with the stored results as soon as `isEnough` accepts them. */
async function results(isEnough: (results: CheckResult[]) => boolean): Promise<CheckResult[]> {
  const found: CheckResult[] = [];
  await new Promise<void>((resolve, reject) => {
    const reading = stream.read(
      1,
      ({ data }) => {
        const batch = resultBatch.parse(JSON.parse(Buffer.from(data).toString()));
        found.push(...batch.results.map((result) => checkResult.parse(result)));
        if (isEnough(found)) void reading.then((reader) => reader.close()).then(resolve);
      },
      reject,
    );
    reading.catch(reject);
  });
  return found;
}

const resultsOf = (count: number): Promise<CheckResult[]> => results((found) => found.length >= count);

describe('taking jobs', () => {
  test('a job is run, reported with its token, and no longer held', async () => {
    await startAgent({ timeScale: 20 });
    expect(await heartbeatWith(() => true)).toMatchObject({
      agent: 'agent-1',
      version: '0.1.0',
      capacity: 100,
      running: 0,
      held: 0,
      draining: false,
    });
    expect(await send([job(1, 1_000), job(2, 1_000)])).toEqual({ accepted: 2, refused: {} });
    await probe.begun(2);
    await heartbeatWith(({ held, running }) => held === 2 && running === 2);
    for (const attempt of probe.attempts) attempt.end(outcomeOf('passed', { latency: 3 }));
    const found = await resultsOf(2);
    expect(found.map(({ monitor, token, outcome }) => [monitor, token, outcome])).toEqual([
      [1, 'token-1', 'passed'],
      [2, 'token-2', 'passed'],
    ]);
    heard = [];
    await heartbeatWith(({ held }) => held === 0);
  });

  test('a held or just finished job is not run again and not reported; a job that was not run is run', async () => {
    await startAgent({ timeScale: 20 });
    await send([job(1, 1_000), job(2, 1_000)]);
    await probe.begun(2);
    expect(await send([job(1, 1_000), job(1, 2_000)])).toEqual({ accepted: 1, refused: { held: 1 } });
    await probe.begun(3);
    probe.attempts[0]?.end(outcomeOf('passed'));
    probe.attempts[1]?.end(outcomeOf('not_run', { reason: 'internal-error' }));
    await resultsOf(2);
    heard = [];
    await heartbeatWith(({ held }) => held === 1);
    expect(await send([job(1, 1_000), job(2, 1_000)])).toEqual({ accepted: 1, refused: { finished: 1 } });
  });

  test('beyond four times its concurrency it is full, and says so at once', async () => {
    await startAgent({ concurrency: 2 });
    const given = Array.from({ length: 10 }, (_, index) => job(index + 1, 1_000));
    expect(await send(given)).toEqual({ accepted: 8, refused: { full: 2 } });
    expect(probe.attempts).toHaveLength(2);
    expect((await resultsOf(2)).map(({ monitor, reason }) => [monitor, reason])).toEqual([
      [9, 'overloaded'],
      [10, 'overloaded'],
    ]);
  });

  test('large jobs are held up to 64 MiB together', async () => {
    await startAgent({ concurrency: 1_000 });
    const body = 'x'.repeat(250_000);
    let full = 0;
    for (let batch = 0; batch < 90; batch += 1) {
      const jobs = [1, 2, 3].map((index) =>
        job(3 * batch + index, 1_000, httpCheck('http://a.example/', { body })),
      );
      full += (await send(jobs)).refused.full ?? 0;
    }
    // 268 such jobs have less than 64 MiB together, and 269 have more.
    expect(full).toBe(1);
  });

  test('an unreadable message is dropped and counted, and the next batch is taken', async () => {
    await startAgent();
    const random = Buffer.from(Array.from({ length: 500 }, (_, index) => (index * 7919) % 256));
    const messages = [
      'garbage',
      '',
      random,
      'null',
      '[]',
      '{"v":0,"kind":"jobs","jobs":[{}]}',
      '{"v":1,"kind":"other"}',
      '{"v":1,"kind":"jobs","jobs":[]}',
      JSON.stringify({ v: 1, kind: 'jobs', jobs: Array.from({ length: 513 }, () => job(1, 1)) }),
      JSON.stringify({ v: 1, kind: 'jobs', padding: 'x'.repeat(2_000_000), jobs: [job(1, 1)] }),
      '['.repeat(900_000),
    ];
    for (const each of messages) bus.publish(JOBS, each);
    expect((await send([job(1, 1_000)])).accepted).toBe(1);
    expect(agent.metrics.droppedMessages).toEqual({
      oversized: 1,
      'not-json': 4,
      invalid: 6,
      'foreign-results': 0,
    });
  });

  test('a bad job does not affect the others of its batch; a job of an unknown kind is reported as such', async () => {
    await startAgent();
    const taken = await send([
      job(1, 1_000),
      'no job',
      { ...job(2, 1_000), token: 5 },
      job(3, 1_000, { type: 'icmp', host: 'x' }),
      job(4, 1_000, { ...tcpCheck(), timeout: 0 }),
      { ...job(5, 1_000), from_the_future: true },
    ]);
    expect(taken).toEqual({ accepted: 2, refused: { unsupported: 2 } });
    expect(agent.metrics.droppedJobs).toBe(2);
    expect(await resultsOf(2)).toMatchObject([
      { monitor: 3, outcome: 'not_run', reason: 'unsupported' },
      { monitor: 4, outcome: 'not_run', reason: 'unsupported' },
    ]);
  });

  test('a job sent ahead is taken and held at once, and run when its time has come', async () => {
    await startAgent({ timeScale: 20 });
    const { accepted } = await send([{ ...job(1, 1_000), wait_ms: 6_000 }, job(2, 1_000)]);
    expect(accepted).toBe(2);
    await heartbeatWith(({ held, running }) => held === 2 && running === 1);
    expect((await send([job(1, 1_000)])).refused).toEqual({ held: 1 });
    expect(probe.attempts).toHaveLength(1);
    await probe.begun(2);
  });

  test('jobs that wait for their slot take no place; an agent without a free place takes no further job', async () => {
    await startAgent({ concurrency: 2 });
    const ahead = Array.from({ length: 9 }, (_, index) => ({ ...job(index + 1, 1_000), wait_ms: 60_000 }));
    expect((await send(ahead)).refused).toEqual({});
    const now = Array.from({ length: 8 }, (_, index) => job(index + 1, 2_000));
    expect((await send(now)).refused).toEqual({});
    expect((await send([{ ...job(10, 1_000), wait_ms: 60_000 }])).refused).toEqual({ full: 1 });
  });

  test('a batch of 512 is reported on the subject that it names, in large messages', async () => {
    await startAgent({ concurrency: 1_000 });
    const jobs = Array.from({ length: 512 }, (_, index) => job(index + 1, 1_000));
    const { accepted } = await send(jobs, { v: 2 });
    expect(accepted).toBe(512);
    await probe.begun(512);
    for (const attempt of probe.attempts) attempt.end(outcomeOf('passed'));
    await resultsOf(512);
    expect((await stream.info()).lastSequence).toBeLessThan(8);
  });

  test('a batch that wants its results on a subject of others is dropped', async () => {
    await startAgent();
    const foreign = [
      'svc.results.hostb-par',
      `svc.results.${REGION}.a.b`,
      'svc.heartbeats.hosta-fra',
      '$SYS.x',
      '',
    ];
    for (const results of foreign) {
      bus.publish(JOBS, JSON.stringify({ v: 1, kind: 'jobs', jobs: [job(1, 1_000)], results }));
    }
    expect((await send([job(2, 1_000)])).accepted).toBe(1);
    expect(agent.metrics.droppedMessages['foreign-results']).toBe(foreign.length);
    expect(agent.metrics.accepted).toBe(1);
  });

  test('run now is answered, not recorded', async () => {
    await startAgent();
    bus.publish(JOBS, JSON.stringify({ v: 1, kind: 'run_now', run: 'run-1', check: tcpCheck({ retry: 3 }) }));
    await probe.begun(1);
    probe.attempts[0]?.end(outcomeOf('failed', { errorMessage: 'refused' }));
    const answer = await message((found): found is RunOutcome => found.kind === 'run_outcome');
    expect(answer).toMatchObject({
      agent: 'agent-1',
      result: { outcome: 'failed', error_message: 'refused' },
    });
    expect((await stream.info()).lastSequence).toBe(0);
  });
});

test('its health address says whether it takes jobs', async () => {
  await startAgent({ drainMs: 15_000 });
  const url = `http://127.0.0.1:${agent.healthPort}`;
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  await send([job(1, 1_000)]);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain('svc_agent_jobs_accepted_total 1\n');
  expect(metrics).toContain('svc_agent_attempts_running 1\n');
  const stopped = agent.stop();
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  probe.attempts[0]?.end(outcomeOf('passed'));
  await stopped;
  await expect(fetch(`${url}/healthz`)).rejects.toThrow();
});

test('kill -9 of the server while jobs run: every result arrives, once', async () => {
  await startAgent({ concurrency: 500 });
  const perBatch = 50;
  const count = 400;
  for (let first = 1; first <= count; first += perBatch) {
    await send(Array.from({ length: perBatch }, (_, index) => job(first + index, 1_000)));
  }
  await probe.begun(count);
  const end = (from: number, to: number): void => {
    for (const attempt of probe.attempts.slice(from, to)) attempt.end(outcomeOf('passed'));
  };
  end(0, 100);
  // When the server dies, some of these results are acknowledged, some are on
  // their way, and some are not sent.
  await resultsOf(50);
  end(100, 200);
  const isLost = new Promise<void>((resolve) => bus.onConnection(() => resolve()));
  await server.kill();
  await isLost;
  end(200, 300);
  heard = [];
  await server.restart();
  end(300, 400);
  await connected();
  const found = await results((stored) => stored.length >= count);
  const monitors = found.map(({ monitor }) => monitor).sort((a, b) => a - b);
  expect(monitors).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  await heartbeatWith(({ held }) => held === 0);
  expect(agent.metrics.resultsDropped).toBe(0);
});

describe('the end', () => {
  test('running attempts finish, other jobs come back, every result is reported, and a heartbeat says that the agent stops', async () => {
    await startAgent({ concurrency: 2, drainMs: 4_000 });
    await send([job(1, 1_000), job(2, 1_000), job(3, 1_000)]);
    await probe.begun(2);
    const stopped = agent.stop();
    await heartbeatWith(({ draining, held }) => draining && held > 0);
    await resultsOf(1);
    probe.attempts[0]?.end(outcomeOf('passed'));
    probe.attempts[1]?.end(outcomeOf('failed'));
    await stopped;
    const found = await resultsOf(3);
    expect(found.map(({ monitor, outcome, reason }) => [monitor, outcome, reason])).toEqual([
      [3, 'not_run', 'shutting-down'],
      [1, 'passed', undefined],
      [2, 'failed', undefined],
    ]);
    heard = [];
    bus.publish(JOBS, JSON.stringify({ v: 1, kind: 'jobs', jobs: [job(9, 9)], results: RESULTS }));
    await bus.flush();
    expect(heard).toEqual([]);
  });

  // The NATS server answers late on a busy machine, so the agent waits ten times as long for it.
  const slowly = { drainMs: 100, timeScale: 0.1 };

  test('checks that are unfinished at the end of the drain time come back as not run', async () => {
    await startAgent(slowly);
    await send([job(1, 1_000)]);
    await probe.begun(1);
    await agent.stop();
    expect(await resultsOf(1)).toMatchObject([{ monitor: 1, outcome: 'not_run', reason: 'shutting-down' }]);
    expect(agent.metrics.resultsDropped).toBe(0);
  });

  test('jobs in transit come back', async () => {
    await startAgent(slowly);
    const check: Check = tcpCheck();
    for (let index = 1; index <= 20; index += 1) {
      bus.publish(
        JOBS,
        JSON.stringify({
          v: 1,
          kind: 'jobs',
          jobs: [job(index, 1_000, check)],
          results: RESULTS,
        }),
      );
    }
    await bus.flush();
    await agent.stop();
    await bus.flush();
    const back = await resultsOf(20);
    expect(new Set(back.map(({ reason }) => reason))).toEqual(new Set(['shutting-down']));
  });
});
