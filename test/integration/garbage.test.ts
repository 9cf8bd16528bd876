/**
 * Garbage on the service's subjects. Messages that cannot be read are dropped and counted. Readable messages
 * that are false change nothing. Checks continue, and memory does not grow.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ResultBatch } from '@svc/shared/messages/check-result.ts';
import { MAX_HEARTBEAT_BYTES } from '@svc/shared/messages/heartbeat.ts';
import {
  ALL_RESULTS,
  heartbeatSubject,
  regionOfSubject,
  resultsSubject,
} from '@svc/shared/messages/subjects.ts';
import { connectBus, type NatsBus } from '@svc/shared/nats/nats-bus.ts';
import type { Region } from '@svc/shared/regions.ts';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { garbage } from '../support/garbage.ts';
import type { LocalService } from '../support/local-service.ts';
import { hookOf, type Opened, openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];
const [HERE, THERE] = ['hosta-fra', 'hostb-par'] as const;

const MALFORMED = 'svc_result_messages_dropped_total{reason="malformed"}';
/**
 * Whether a stream of results takes a message of this size. Its limit is the largest batch with its headers.
 */
const isTaken = ({ data }: { data: Uint8Array }) => data.length <= 257 * 1_024;
const MALFORMED_RESULT = 'svc_results_dropped_total{reason="malformed"}';
const BAD_TOKEN = 'svc_results_dropped_total{reason="bad-token"}';
const AGENT_MESSAGES = 'svc_agent_subject_messages_dropped_total';

const RESULT = {
  monitor: 1,
  version: 1,
  slot: 1_000,
  token: 'made-up',
  outcome: 'failed',
  started_at: 1,
  attempts: [],
};
const BATCH = { v: 1, agent: 'ghost', results: [RESULT] };
const HEARTBEAT = {
  v: 1,
  kind: 'heartbeat',
  agent: 'ghost',
  boot: 'ghost',
  version: '0',
  capacity: 1,
  running: 0,
  held: 0,
  loop_delay_ms: 0,
  clock: 1,
  started_at: 1,
  draining: true,
};
const jobsFor = (region: Region) => ({
  v: 1,
  kind: 'jobs',
  jobs: [{}],
  results: resultsSubject(region),
});

async function start(opened: Opened) {
  const web = await targetIn(opened);
  const hook = await receiverIn(opened);
  const service = await serviceIn(opened, {
    regions: REGIONS,
    declared: {
      svc_http_monitor: {
        web: { name: 'Web', url: web.url, periodicity: '30s', active: true, retry: 0, regions: REGIONS },
      },
      svc_notification: { hook: hookOf(hook, 'svc_http_monitor.web') },
    },
  });
  const bus = await connectBus({ url: service.nats.url, name: 'stranger', log: pino({ level: 'silent' }) });
  opened.push({ close: () => bus.close() });
  await service.changed('Web', 'active');
  return { web, hook, service, bus, id: await service.idOf('Web') };
}

type Started = Awaited<ReturnType<typeof start>>;

/** Expects that no garbage was believed, that checks continued, and that an outage is announced as usual. */
async function expectUnimpressed({ web, hook, service, id }: Started): Promise<void> {
  await service.decided(id, 1);
  expect(service.transitions.map(({ to }) => to)).toEqual(['active']);
  expect(await service.query("SELECT * FROM results WHERE outcome NOT IN ('passed', 'not_run')")).toEqual([]);
  expect(await service.query('SELECT DISTINCT region FROM results ORDER BY region')).toEqual(
    REGIONS.map((region) => ({ region })),
  );
  expect(hook.requests).toHaveLength(0);
  web.answerWith((response) => {
    response.statusCode = 503;
    response.end();
  });
  const [alert] = await hook.received(1);
  expect(alert?.json).toMatchObject({ status: 'error', statusCode: 503 });
}

/**
 * Resolves when the message is counted as dropped for each region. It is sent again now and then, because a
 * busy machine may lose a connection, and a message with it.
 */
async function untilCounted(service: LocalService, bus: NatsBus, data: Uint8Array): Promise<void> {
  const goal = (await service.metric(AGENT_MESSAGES)) + REGIONS.length;
  let looks = 0;
  await service.until(async () => {
    if (looks % 100 === 0) for (const region of REGIONS) bus.publish(heartbeatSubject(region, 'ghost'), data);
    looks += 1;
    return (await service.metric(AGENT_MESSAGES)) >= goal;
  });
}

async function untilMetric(service: LocalService, name: string, value: number): Promise<void> {
  await service.until(async () => (await service.metric(name)) >= value);
  expect(await service.metric(name)).toBe(value);
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function memoryInUse(): number {
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const MEGABYTE = 1_024 ** 2;

/**
 * The memory after everything was read: the lowest value, when five further measurements find no lower one.
 */
async function memoryAtRest(service: LocalService): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  let unchanged = 0;
  await service.until(() => {
    const inUse = memoryInUse();
    unchanged = inUse > least - MEGABYTE ? unchanged + 1 : 0;
    least = Math.min(least, inUse);
    return unchanged === 5;
  });
  return least;
}

describe.concurrent('messages that cannot be read are dropped and counted', () => {
  test('on svc.results.*', async (context) => {
    const started = await start(openedIn(context));
    const { service, bus } = started;
    const messages = [
      ...garbage(BATCH),
      ...[undefined, null, {}, 'text', [], new Array(513).fill(RESULT)].map((results) => ({
        what: 'no list of 1 to 512 results',
        data: Buffer.from(JSON.stringify({ ...BATCH, results })),
      })),
      {
        what: 'results of more than 256 KiB',
        data: Buffer.from(JSON.stringify({ ...BATCH, padding: 'x'.repeat(256 * 1_024) })),
      },
    ];
    for (const region of REGIONS) for (const { data } of messages) bus.publish(`svc.results.${region}`, data);
    for (const token of ['mars', 'hosta-fra2', '_'])
      bus.publish(`svc.results.${token}`, JSON.stringify(BATCH));
    // Readable messages with entries that are no results. These entries are counted one by one.
    const { token: _token, ...withoutToken } = RESULT;
    const entries = [
      null,
      1,
      'text',
      [],
      {},
      withoutToken,
      { ...RESULT, monitor: '1' },
      { ...RESULT, monitor: -1 },
      { ...RESULT, slot: 1.5 },
      { ...RESULT, outcome: 'great' },
      { ...RESULT, latency: -1 },
      { ...RESULT, latency: 1e12 },
      { ...RESULT, error_message: 'x'.repeat(501) },
      { ...RESULT, attempts: new Array(12).fill({ outcome: 'failed', started_ms: 0, latency: 1 }) },
      { ...RESULT, token: 'x'.repeat(65) },
    ];
    bus.publish(`svc.results.${HERE}`, JSON.stringify({ ...BATCH, results: entries }));
    await bus.flush();
    // No stream takes a message without a region, or one that is too large.
    await untilMetric(service, MALFORMED, REGIONS.length * messages.filter(isTaken).length);
    await untilMetric(service, MALFORMED_RESULT, entries.length);
    await expectUnimpressed(started);
  });

  test('on svc.heartbeats.*', async (context) => {
    const started = await start(openedIn(context));
    const { service, bus } = started;
    const messages = [
      ...garbage(HEARTBEAT),
      ...[
        { kind: 'unknown' },
        { kind: 'acceptance' },
        { capacity: 0 },
        { held: -1 },
        { boot: 'a.b' },
        { draining: 'no' },
        { agent: '' },
      ].map((change) => ({
        what: 'no heartbeat',
        data: Buffer.from(JSON.stringify({ ...HEARTBEAT, ...change })),
      })),
    ];
    // NATS does not store longer heartbeats, so no coordinator reads them.
    const isKept = (data: Uint8Array) => data.length <= MAX_HEARTBEAT_BYTES;
    const [kept, tooLong] = [true, false].map((is) => messages.filter(({ data }) => isKept(data) === is));
    for (const { data } of tooLong ?? []) bus.publish(heartbeatSubject(HERE, 'ghost'), data);
    for (const { data } of kept ?? []) await untilCounted(service, bus, data);
    expect(tooLong).not.toEqual([]);
    expect(await service.metric(AGENT_MESSAGES)).toBe((kept ?? []).length * REGIONS.length);
    await expectUnimpressed(started);
  });

  test('on svc.jobs.*', async (context) => {
    const started = await start(openedIn(context));
    const { service, bus } = started;
    const messagesFor = (region: Region) => [
      // A batch of jobs does not name its sender.
      ...garbage(jobsFor(region)).filter(({ what }) => !what.includes('agent')),
      ...[
        { kind: 'unknown' },
        { kind: 'run_now' },
        { jobs: [] },
        { jobs: {} },
        { jobs: new Array(513).fill({}) },
        { results: 7 },
        { results: 'svc.results.mars' },
        { results: 'svc.heartbeats.hosta-fra' },
      ].map((change) => ({
        what: 'no jobs',
        data: Buffer.from(JSON.stringify({ ...jobsFor(region), ...change })),
      })),
    ];
    for (const region of REGIONS)
      for (const { data } of messagesFor(region)) bus.publish(`svc.jobs.${region}`, data);
    const jobs = [null, 1, 'text', [], {}, { monitor: 1, slot: 1 }, { monitor: 'one' }];
    bus.publish(`svc.jobs.${HERE}`, JSON.stringify({ ...jobsFor(HERE), jobs }));
    await bus.flush();
    for (const region of REGIONS) {
      const { metrics } = service.agent(region);
      const messages = messagesFor(region);
      const dropped = () => Object.values(metrics.droppedMessages).reduce((sum, count) => sum + count, 0);
      await service.until(() => dropped() >= messages.length);
      expect([region, dropped()]).toEqual([region, messages.length]);
    }
    await service.until(() => service.agent(HERE).metrics.droppedJobs >= jobs.length);
    expect(service.agent(HERE).metrics.droppedJobs).toBe(jobs.length);
    await expectUnimpressed(started);
  });
});

describe.concurrent('false messages change nothing', () => {
  test('results for jobs that the region did not get', async (context) => {
    const started = await start(openedIn(context));
    const { service, bus, id } = started;
    // Takes a true result, which is then sent again as a result of another region, another slot and another
    // monitor.
    const { promise, resolve } = Promise.withResolvers<ResultBatch>();
    const listening = bus.subscribe(ALL_RESULTS, ({ subject, data }) => {
      if (regionOfSubject(subject) === HERE) resolve(JSON.parse(Buffer.from(data).toString()) as ResultBatch);
    });
    const { results } = await promise;
    listening.close();
    const result = { ...(results[0] as typeof RESULT), outcome: 'failed' };
    const lie = (region: Region, change: object) =>
      bus.publish(`svc.results.${region}`, JSON.stringify({ ...BATCH, results: [{ ...result, ...change }] }));
    lie(THERE, {});
    lie(HERE, { slot: result.slot + 30_000 });
    lie(HERE, { monitor: id + 1 });
    lie(HERE, { monitor: 999_999, token: '' });
    for (const region of REGIONS) lie(region, { token: 'made-up', slot: result.slot + 60_000 });
    // The region that got the job may send its result twice. The first result stays.
    lie(HERE, {});
    await bus.flush();
    await untilMetric(service, BAD_TOKEN, 4 + REGIONS.length);
    await untilMetric(service, 'svc_results_total{novelty="repeated"}', 1);
    await expectUnimpressed(started);
  });

  test('invented agents', async (context) => {
    const started = await start(openedIn(context));
    const { service, bus } = started;
    for (const region of REGIONS) {
      for (let number = 0; number < 2_000; number += 1) {
        const subject = heartbeatSubject(region, `ghost-${number}`);
        bus.publish(subject, JSON.stringify({ ...HEARTBEAT, agent: `ghost-${number}` }));
      }
    }
    await bus.flush();
    // A thousand agents per region are remembered at a time, and forgotten when they are
    // silent. The 100 more that NATS keeps are dropped, or come when there is room again.
    await service.until(async () => (await service.metric('svc_agents_gone_total')) >= REGIONS.length * 999);
    await expectUnimpressed(started);
  });
});

test('memory does not grow under a flood of garbage', async (context) => {
  const started = await start(openedIn(context));
  const { service, bus } = started;
  const flood = async () => {
    let taken = 0;
    for (const region of REGIONS) {
      for (const message of [...garbage(BATCH), ...garbage(BATCH)]) {
        const { data } = message;
        for (const kind of ['results', 'jobs']) bus.publish(`svc.${kind}.${region}`, data);
        bus.publish(heartbeatSubject(region, 'ghost'), data);
        if (isTaken(message)) taken += 1;
      }
      await bus.flush();
    }
    return taken;
  };
  // Memory that is allocated once (compiled code, buffers of sockets) does not count.
  let taken = await flood();
  await untilMetric(service, MALFORMED, taken);
  const before = await memoryAtRest(service);
  for (let round = 0; round < 8; round += 1) {
    taken += await flood();
    await untilMetric(service, MALFORMED, taken);
  }
  // NATS keeps only the newest heartbeat of each agent.
  await service.until(async () => (await service.metric(AGENT_MESSAGES)) > 0);
  expect((await memoryAtRest(service)) - before).toBeLessThan(8 * MEGABYTE);
  await expectUnimpressed(started);
});
