/** The streams of several regions: the content of one stream affects no other. */
import { systemClock } from '@svc/shared/clock.ts';
import { createLogger } from '@svc/shared/log.ts';
import { resultsStream, resultsSubject } from '@svc/shared/messages/subjects.ts';
import { connectBus, type NatsBus } from '@svc/shared/nats/nats-bus.ts';
import { NatsResultStreams } from '@svc/shared/nats/result-streams.ts';
import type { Region } from '@svc/shared/regions.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { liveMonitor, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { startedConsumer, streamsThere } from '../../../../test/support/coordinator/started-consumer.ts';
import { type NatsServer, startNatsServer } from '../../../../test/support/nats-server.ts';
import { RegionStream } from '../../../../test/support/region-stream.ts';
import type { ResultConsumer } from './consumer.ts';

const [A, B, C] = THREE as [Region, Region, Region];
const log = createLogger('test', 'silent');
const MEBIBYTE = 1024 ** 2;
/** Size of a message in a backlog, bytes. It is below the size of the largest message that an agent sends. */
const LARGE = 200 * 1024;

let server: NatsServer;
let bus: NatsBus;
let streams: NatsResultStreams;
let recording: Recording;
let consumer: ResultConsumer;
/** Regions that had an agent within the last 24 h. */
let active: Set<Region>;
let disconnections: number;

beforeEach(async () => {
  // The server is configured as by `svc region init`: it cuts off a connection with more unread bytes than
  // this.
  server = await startNatsServer('max_pending: 8MB\nwrite_deadline: "2s"');
  bus = await connectBus({ url: server.url, name: 'test', log });
  disconnections = 0;
  bus.onConnection((isConnected) => {
    if (!isConnected) disconnections += 1;
  });
  streams = new NatsResultStreams(bus);
  recording = await Recording.open(systemClock);
  await recording.declare(liveMonitor(1));
  active = new Set([A, B]);
});

afterEach(async () => {
  await consumer.stop();
  await recording.dispose();
  await bus.close();
  await server.dispose();
});

function startConsumer(maxBytes: number): void {
  consumer = startedConsumer({
    bus,
    streams,
    recording,
    maxBytes,
    hadAgentWithin24h: (region) => active.has(region),
  });
}

function send(region: Region, slots: readonly number[], facts: object = {}): void {
  const results = slots.map((slot) => ({
    monitor: 1,
    version: 1,
    slot,
    token: 'good',
    outcome: 'passed',
    started_at: slot,
    attempts: [],
    ...facts,
  }));
  bus.publish(resultsSubject(region), JSON.stringify({ v: 1, agent: 'agent-1', results }));
}

async function recorded(region: Region): Promise<number[]> {
  const rows = await recording.results();
  return rows.filter((row) => row.region === region).map(({ slot }) => slot);
}

/** Fills a region's stream with `bytes` of large messages. */
async function fill(region: Region, bytes: number, message: (index: number) => string): Promise<number> {
  const count = Math.ceil(bytes / LARGE);
  for (let index = 0; index < count; index += 1) {
    bus.publish(resultsSubject(region), message(index));
    if (index % 16 === 15) await bus.flush();
  }
  await bus.flush();
  return count;
}

const limits = async () =>
  new Map([...(await streams.list())].map(([name, info]) => [name, (info?.maxBytes ?? 0) / MEBIBYTE]));

describe('a region', () => {
  test('with an agent has a stream, and an equal part of the limit; one that joins gets its part', async () => {
    startConsumer(96 * MEBIBYTE);
    await streamsThere(streams, active);
    expect(await limits()).toEqual(new Map([A, B].map((region) => [resultsStream(region), 48])));
    active.add(C);
    consumer.regionCame(C);
    await expect.poll(limits).toEqual(new Map([A, B, C].map((region) => [resultsStream(region), 32])));
    send(C, [1000]);
    await bus.flush();
    await consumer.caughtUp();
    expect(await recorded(C)).toEqual([1000]);
  });

  test('that had an agent once is still read, and keeps little of the limit', async () => {
    const stream = new RegionStream(bus, C);
    await stream.ensure({ maxBytes: 256 * MEBIBYTE });
    send(C, [1000]);
    await bus.flush();
    startConsumer(256 * MEBIBYTE);
    await consumer.caughtUp();
    expect(await recorded(C)).toEqual([1000]);
    expect((await limits()).get(resultsStream(C))).toBe(64);
  });

  test('adopts a limit that was changed after its stream was made', async () => {
    startConsumer(64 * MEBIBYTE);
    await consumer.caughtUp();
    await consumer.stop();
    startConsumer(128 * MEBIBYTE);
    await consumer.caughtUp();
    expect((await limits()).get(resultsStream(A))).toBe(64);
  });
});

describe('a backlog of 64 MiB', () => {
  const padding = 'x'.repeat(LARGE);
  const batch = (facts: object, padded: object) =>
    JSON.stringify({
      v: 1,
      agent: 'agent-1',
      results: [{ monitor: 1, version: 1, outcome: 'passed', started_at: 1, attempts: [], ...facts }],
      ...padded,
    });

  test.each([
    ['honest', (index: number) => batch({ slot: 1_000 * (index + 1), token: 'good' }, { later: padding })],
    ['of forged tokens', (index: number) => batch({ slot: index, token: 'forged' }, { later: padding })],
    ['of garbage', () => padding],
    ['of deep JSON', () => '['.repeat(LARGE)],
  ])(
    '%s neither cuts the coordinator off nor evicts or delays what other regions report',
    async (_what, message) => {
      startConsumer(128 * MEBIBYTE);
      await streamsThere(streams, active);
      send(A, [500]);
      await bus.flush();
      await consumer.caughtUp();
      await consumer.stop();
      const filledAt = systemClock.monotonic();
      const count = await fill(A, 80 * MEBIBYTE, message);
      send(B, [1_000]);
      await bus.flush();
      startConsumer(128 * MEBIBYTE);

      let lagMs = 0;
      recording.recorder.onPosition(() => {
        lagMs = Math.max(lagMs, consumer.lagMs);
      });
      const atOnce = Promise.withResolvers<number>();
      const stop = recording.recorder.onPosition(({ stream }) => {
        if (stream !== resultsStream(B)) return;
        stop();
        atOnce.resolve(recording.recorder.positionIn(resultsStream(A))?.sequence ?? 0);
      });
      // When the result of region B is recorded, the backlog of region A is not completely read yet.
      expect(await atOnce.promise).toBeLessThan(count + 1);
      await consumer.caughtUp(B);
      // Region B is caught up while the backlog of region A is still read, so lost
      // jobs of region B are found.
      expect(recording.recorder.positionIn(resultsStream(A))?.sequence ?? 0).toBeLessThan(count + 1);
      for (let slot = 2_000; slot <= 10_000; slot += 1_000) send(B, [slot]);
      await bus.flush();
      await consumer.caughtUp();
      expect(await recorded(B)).toEqual(Array.from({ length: 10 }, (_, index) => 1_000 * (index + 1)));
      expect(disconnections).toBe(0);
      // A lag that is as large as the age of the backlog would leave out checks of all regions.
      expect(lagMs).toBeLessThan((systemClock.monotonic() - filledAt) / 2);
      expect(consumer.dropped['results-dropped']).toBeGreaterThan(0);
      expect(recording.recorder.positionIn(resultsStream(A))?.sequence).toBe(count + 1);
    },
  );
});
