import { cp, rm } from 'node:fs/promises';
import { type Clock, systemClock } from '@svc/shared/clock.ts';
import { createLogger } from '@svc/shared/log.ts';
import { resultsStream, resultsSubject } from '@svc/shared/messages/subjects.ts';
import { connectBus, type NatsBus } from '@svc/shared/nats/nats-bus.ts';
import { NatsResultStreams } from '@svc/shared/nats/result-streams.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { liveMonitor, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { streamsThere } from '../../../../test/support/coordinator/started-consumer.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { jetStreamOf } from '../../../../test/support/jetstream.ts';
import { startNatsProxy } from '../../../../test/support/nats-proxy.ts';
import { type NatsServer, startNatsServer } from '../../../../test/support/nats-server.ts';
import { RegionStream } from '../../../../test/support/region-stream.ts';
import { ONLY_SHARD } from '../verdict/shard.ts';
import { ResultConsumer } from './consumer.ts';

const [A] = THREE as [Region];
const log = createLogger('test', 'silent');
const MAX_BYTES = 64 * 1024 * 1024;

let server: NatsServer;
let bus: NatsBus;
let streams: NatsResultStreams;
/** The stream of region A. */
let stream: RegionStream;
let recording: Recording;
let consumer: ResultConsumer;
let messages = 0;
/** Regions that had an agent within the last 24 h. */
let active: Set<Region>;

beforeEach(async () => {
  server = await startNatsServer();
  bus = await connectBus({ url: server.url, name: 'test', log });
  streams = new NatsResultStreams(bus);
  stream = new RegionStream(bus, A);
  active = new Set([A]);
  recording = await Recording.open(systemClock);
  await recording.declare(liveMonitor(1));
  startConsumer();
  await streamsThere(streams, active);
});

afterEach(async () => {
  await consumer.stop();
  await recording.dispose();
  await bus.close();
  await server.dispose();
});

function startConsumer(clock: Clock = systemClock, connection: NatsBus = bus): void {
  const { recorder } = recording;
  consumer = new ResultConsumer({
    regions: REGIONS,
    shard: ONLY_SHARD,
    bus: connection,
    streams: connection === bus ? streams : new NatsResultStreams(connection),
    recorder,
    hadAgentWithin24h: (region) => active.has(region),
    clock,
    log,
    maxBytes: MAX_BYTES,
  });
  consumer.start();
}

/** Publishes results of the slots, one message each. */
async function publish(...slots: number[]): Promise<void> {
  for (const slot of slots) send([result(slot)]);
  await bus.flush();
}

function send(results: unknown[]): void {
  messages += 1;
  const batch = { v: 1, agent: 'agent-1', results };
  bus.publish(resultsSubject(A), JSON.stringify(batch), { messageId: `m${messages}` });
}

function result(slot: number) {
  return { monitor: 1, version: 1, slot, token: 'good', outcome: 'passed', started_at: slot, attempts: [] };
}

async function slots(): Promise<number[]> {
  const rows = await recording.results();
  return rows.map((row) => row.slot);
}

/** Resolves when `count` results were recorded, repetitions included. */
async function untilRecorded(count: number): Promise<void> {
  const { recorder } = recording;
  while (recorder.counts.results < count) {
    await new Promise<void>((resolve) => {
      const stop = recorder.onPosition(() => {
        stop();
        resolve();
      });
    });
  }
}

async function untilConnected(): Promise<void> {
  if (bus.isConnected) return;
  await new Promise<void>((resolve) => {
    const stop = bus.onConnection((isConnected) => {
      if (!isConnected) return;
      stop();
      resolve();
    });
  });
}

async function restartServer(beforeStart?: (storeDir: string) => Promise<void>): Promise<void> {
  const disconnected = new Promise<void>((resolve) => {
    const stop = bus.onConnection((isConnected) => {
      if (isConnected) return;
      stop();
      resolve();
    });
  });
  await server.stop();
  await disconnected;
  await server.restart(beforeStart);
  await untilConnected();
}

test('records published results, and has caught up only when they are recorded', async () => {
  await publish(1000, 2000, 3000);
  await consumer.caughtUp();
  expect(await slots()).toEqual([1000, 2000, 3000]);
});

test('continues after the recorded position, with the messages that came while it was away', async () => {
  await publish(1000, 2000);
  await consumer.caughtUp();
  await consumer.stop();
  await recording.recorder.stop();
  await publish(3000);
  await recording.restart();
  startConsumer();
  await consumer.caughtUp();
  expect(await slots()).toEqual([1000, 2000, 3000]);
  expect(recording.recorder.counts).toMatchObject({ results: 1, duplicates: 0 });
});

describe('garbage', () => {
  test.each([
    ['no JSON', '{'],
    ['no UTF-8', Buffer.from([0xff, 0xfe, 0x00])],
    ['no batch', '{"v":1}'],
    ['no version', JSON.stringify({ v: 0, agent: 'a', results: [result(1)] })],
    ['too many results', JSON.stringify({ v: 1, agent: 'a', results: Array(513).fill(result(1)) })],
    ['more than 256 KiB', JSON.stringify({ v: 1, agent: 'a', results: [{ x: 'x'.repeat(256 * 1024) }] })],
  ])('%s is dropped and counted, and the next message is read', async (_name, data) => {
    bus.publish(resultsSubject(A), data);
    await publish(1000);
    await consumer.caughtUp();
    expect(consumer.dropped['malformed-message']).toBe(1);
    expect(await slots()).toEqual([1000]);
  });

  test('a bad result does not cost its neighbours', async () => {
    send([result(1000), { monitor: 'one' }, null, { ...result(2000), latency: -1 }, result(3000)]);
    await bus.flush();
    await consumer.caughtUp();
    expect(consumer.dropped['malformed-result']).toBe(3);
    expect(await slots()).toEqual([1000, 3000]);
  });

  test('a message that cannot be read moves the position', async () => {
    bus.publish(resultsSubject(A), '{}');
    await bus.flush();
    await consumer.caughtUp();
    expect(consumer.dropped['malformed-message']).toBe(1);
    expect(recording.recorder.positionIn(resultsStream(A))?.sequence).toBe(1);
  });

  test('a bad token and an unknown monitor are dropped and counted', async () => {
    send([
      { ...result(1000), token: 'forged' },
      { ...result(2000), monitor: 99 },
    ]);
    await bus.flush();
    await consumer.caughtUp();
    expect(recording.recorder.dropped).toMatchObject({ 'bad-token': 1, 'unknown-monitor': 1 });
    expect(await slots()).toEqual([]);
  });
});

describe('a stream that does not agree with the position', () => {
  test('emptied: the next messages are read', async () => {
    await publish(1000, 2000);
    await consumer.caughtUp();
    const manager = await jetStreamOf(bus.connection);
    await manager.streams.purge(resultsStream(A));
    await publish(3000);
    await consumer.caughtUp();
    expect(await slots()).toEqual([1000, 2000, 3000]);
    expect(consumer.dropped).toMatchObject({ 'results-dropped': 0, 'stream-replaced': 0 });
  });

  test('deleted and made again: read from its first message', async () => {
    await publish(1000, 2000, 3000);
    await consumer.caughtUp();
    await consumer.stop();
    const manager = await jetStreamOf(bus.connection);
    await manager.streams.delete(resultsStream(A));
    await stream.ensure({ maxBytes: MAX_BYTES });
    await publish(4000);
    startConsumer();
    await consumer.caughtUp();
    expect(await slots()).toEqual([1000, 2000, 3000, 4000]);
    expect(recording.recorder.positionIn(resultsStream(A))?.sequence).toBe(1);
    expect(consumer.dropped).toMatchObject({ 'results-dropped': 0, 'stream-replaced': 1 });
  });

  test('deleted and made again after it was inspected, before the consumer was made: read from its first message', async () => {
    await publish(1000, 2000, 3000, 4000);
    await consumer.caughtUp();
    await consumer.stop();
    const proxy = await startNatsProxy(server.port);
    const url = `nats://127.0.0.1:${proxy.port}`;
    const proxied = await connectBus({ url, name: 'proxied', log });
    try {
      const replaced = proxy.once('$JS.API.CONSUMER.CREATE', async () => {
        const manager = await jetStreamOf(bus.connection);
        await manager.streams.delete(resultsStream(A));
        await stream.ensure({ maxBytes: MAX_BYTES });
        await publish(5000, 6000);
      });
      startConsumer(systemClock, proxied);
      await replaced;
      await untilRecorded(6);
      await publish(7000);
      await untilRecorded(7);
      expect(await slots()).toEqual([1000, 2000, 3000, 4000, 5000, 6000, 7000]);
      expect(recording.recorder.positionIn(resultsStream(A))?.sequence).toBe(3);
      expect(consumer.dropped).toMatchObject({ 'results-dropped': 0, 'stream-replaced': 1 });
    } finally {
      await consumer.stop();
      await proxied.close();
      await proxy.close();
    }
  });

  test('lost with its server: made again while reading', async () => {
    await publish(1000, 2000);
    await consumer.caughtUp();
    await restartServer((storeDir) => rm(storeDir, { recursive: true, force: true }));
    await streamsThere(streams, active);
    await publish(3000);
    await untilRecorded(3);
    expect(await slots()).toEqual([1000, 2000, 3000]);
  });

  test('deleted before any of its messages was recorded: this is logged too', async () => {
    const manager = await jetStreamOf(bus.connection);
    await manager.streams.delete(resultsStream(A));
    await stream.ensure({ maxBytes: MAX_BYTES });
    await publish(1000);
    await untilRecorded(1);
    expect(await slots()).toEqual([1000]);
    expect(consumer.dropped).toMatchObject({ 'results-dropped': 0, 'stream-replaced': 1 });
  });

  test('restored to an earlier state: repeats are dropped, other messages at old places are read', async () => {
    await publish(1000, 2000);
    await consumer.caughtUp();
    const backup = `${server.storeDir}-backup`;
    await restartServer((storeDir) => cp(storeDir, backup, { recursive: true }));
    await publish(3000, 4000);
    await consumer.caughtUp();
    await restartServer(async (storeDir) => {
      await rm(storeDir, { recursive: true });
      await cp(backup, storeDir, { recursive: true });
    });
    await publish(5000, 6000, 7000);
    await untilRecorded(4 + 5);
    expect(await slots()).toEqual([1000, 2000, 3000, 4000, 5000, 6000, 7000]);
    expect(recording.recorder.counts.duplicates).toBe(2);
  });

  test('results that the limit removed before they were read are counted', async () => {
    await publish(1000);
    await consumer.caughtUp();
    await consumer.stop();
    await publish(2000, 3000, 4000);
    await stream.purge(4);
    startConsumer();
    await consumer.caughtUp();
    expect(consumer.dropped['results-dropped']).toBe(2);
    expect(await slots()).toEqual([1000, 4000]);
  });
});

/** Resolves with the lowest sequence that the next purge leaves in the stream. */
function nextPurge(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const purge = streams.purge.bind(streams);
  streams.purge = async (name, below) => {
    await purge(name, below);
    resolve(below);
  };
  return promise;
}

describe('recorded messages', () => {
  let clock: FakeClock;

  beforeEach(async () => {
    await consumer.stop();
    clock = new FakeClock();
    startConsumer(clock);
    await publish(1000, 2000, 3000);
    await untilRecorded(3);
  });

  test('are purged after five minutes, up to the message of the position', async () => {
    const purged = nextPurge();
    await clock.advanceSettling(300_000);
    expect((await stream.info()).firstSequence).toBe(1);
    await clock.advanceSettling(20_000);
    expect(await purged).toBe(3);
    expect(await stream.info()).toMatchObject({ firstSequence: 3, lastSequence: 3 });
  });

  test('are recorded again, once, by a database that lost its last commits', async () => {
    await recording.copy();
    await publish(4000, 5000);
    await untilRecorded(5);
    await clock.advanceSettling(300_000);
    await consumer.stop();
    await recording.restartFromCopy();
    expect(await slots()).toEqual([1000, 2000, 3000]);
    startConsumer();
    await consumer.caughtUp();
    expect(await slots()).toEqual([1000, 2000, 3000, 4000, 5000]);
    expect(recording.recorder.counts).toMatchObject({ results: 2, duplicates: 0 });
    expect(consumer.dropped).toMatchObject({ 'results-dropped': 0, 'stream-replaced': 0 });
  });

  test('are purged at once from a stream that is more than half full', async () => {
    const purged = nextPurge();
    const message = Buffer.alloc(200 * 1024, 'x');
    for (let index = 0; index < 200; index += 1) bus.publish(resultsSubject(A), message);
    await bus.flush();
    await consumer.caughtUp();
    // Every 10 s the consumer purges by the sizes of its last listing, and then lists the streams
    // again. So the first listing must be answered before the time of the second listing.
    await clock.advanceSettling(10_000);
    const known = () => consumer.streamSizes.find(({ region }) => region === A)?.bytes;
    await expect.poll(known).toBeGreaterThan(MAX_BYTES / 2);
    await clock.advanceSettling(10_000);
    expect(await purged).toBeGreaterThan(100);
    expect((await stream.info()).bytes).toBeLessThan(MAX_BYTES / 2);
  });
});

test('the server restarts between results: all are recorded once', async () => {
  await publish(1000, 2000);
  await consumer.caughtUp();
  await restartServer();
  await publish(3000);
  await untilRecorded(3);
  expect(await slots()).toEqual([1000, 2000, 3000]);
  expect(recording.recorder.counts.duplicates).toBe(0);
});
