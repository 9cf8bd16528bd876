import { pino } from 'pino';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from 'vitest';
import { collector } from '../../../../test/support/collector.ts';
import { jetStreamOf } from '../../../../test/support/jetstream.ts';
import { type NatsServer, startNatsServer } from '../../../../test/support/nats-server.ts';
import { RegionStream } from '../../../../test/support/region-stream.ts';
import { resultsStream } from '../messages/subjects.ts';
import type { Region } from '../regions.ts';
import { READ_AHEAD_BYTES, type StreamMessage } from './bus.ts';
import { connectBus, type NatsBus } from './nats-bus.ts';
import { NatsResultStreams, StreamTooLarge } from './result-streams.ts';

const log = pino({ level: 'silent' });
const A: Region = 'hosta-fra';
const B: Region = 'hostb-par';
const MEBIBYTE = 1024 * 1024;
const LIMITS = { maxBytes: 64 * MEBIBYTE };
const text = (data: Uint8Array) => Buffer.from(data).toString();

let server: NatsServer;
let bus: NatsBus;
let streams: NatsResultStreams;
let stream: RegionStream;

beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.dispose());
beforeEach(async () => {
  bus = await connectBus({ url: server.url, name: 'test', log });
  streams = new NatsResultStreams(bus);
  stream = new RegionStream(bus, A);
});
afterEach(async () => {
  const manager = await jetStreamOf(bus.connection);
  for await (const { config } of manager.streams.list()) await manager.streams.delete(config.name);
  await bus.close();
});

/** Publishes `count` messages of `bytes` to a region's stream, and waits until the stream has them. */
async function fill(region: Region, count: number, bytes: number): Promise<void> {
  const data = 'x'.repeat(bytes);
  for (let n = 0; n < count; n += 1) {
    bus.publish(`svc.results.${region}`, data);
    if (n % 16 === 15) await bus.flush();
  }
  await bus.flush();
}

describe('the stream of a region', () => {
  test('is created once and keeps what comes on its region and one token below, no other', async () => {
    const created = await stream.ensure(LIMITS);
    expect(await stream.ensure(LIMITS)).toEqual(created);
    for (const subject of [
      'svc.results.hosta-fra',
      'svc.results.hosta-fra.shard-1',
      'svc.results.hosta-fra.a.b',
      'svc.results.hostb-par',
      'svc.results.hosta-fra2',
    ]) {
      bus.publish(subject, subject);
    }
    await bus.flush();
    expect(await stream.info()).toMatchObject({ lastSequence: 2 });
    expect((await stream.message(1))?.subject).toBe('svc.results.hosta-fra');
    expect((await stream.message(2))?.subject).toBe('svc.results.hosta-fra.shard-1');
  });

  test('can be created by two processes at once with different limits', async () => {
    const [one, other] = [new NatsResultStreams(bus), new NatsResultStreams(bus)];
    const limits = [MEBIBYTE, 2 * MEBIBYTE, 3 * MEBIBYTE, 4 * MEBIBYTE];
    const infos = await Promise.all(
      limits.map((maxBytes, index) => (index % 2 === 0 ? one : other).ensure(A, { maxBytes })),
    );
    expect(new Set(infos.map(({ created }) => created)).size).toBe(1);
  });

  test('removes duplicates of its own region only', async () => {
    await streams.ensure(A, LIMITS);
    await streams.ensure(B, LIMITS);
    for (const region of [A, A, B]) bus.publish(`svc.results.${region}`, 'x', { messageId: 'same' });
    await bus.flush();
    const infos = await streams.list();
    expect([A, B].map((region) => infos.get(resultsStream(region))?.lastSequence)).toEqual([1, 1]);
  });

  test('takes no message that is larger than any of ours', async () => {
    await stream.ensure(LIMITS);
    const answers = collector<string>();
    const inbox = bus.inbox();
    bus.subscribe(inbox, ({ data }) => answers.handle(text(data)));
    bus.publish('svc.results.hosta-fra', 'x'.repeat(300 * 1024), { reply: inbox });
    bus.publish('svc.results.hosta-fra', 'x'.repeat(256 * 1024), { reply: inbox, messageId: 'largest' });
    const [tooLarge, taken] = await answers.count(2);
    expect(tooLarge).toContain('"err_code":10054');
    // The sequence is not checked: newer servers may find messages of a deleted stream with the same name.
    expect(taken).toMatch(/^\{"stream":"SVC_RESULTS_hosta-fra", ?"seq":\d+\}$/);
  });

  test.each([
    ['bound on messages', { max_msg_size: 1_024 }],
    ['memory of ids', { duplicate_window: 60_000_000_000 }],
    ['list of subjects', { subjects: ['svc.results.hosta-fra'] }],
  ])('that was made with another %s gets that of this version', async (_, earlier) => {
    await stream.ensure(LIMITS);
    const { streams: api } = await jetStreamOf(bus.connection);
    const { config } = await api.info(stream.name);
    await api.update(stream.name, earlier);
    await stream.ensure(LIMITS);
    expect((await api.info(stream.name)).config).toMatchObject(config);
  });

  test('takes a changed limit when it is there already', async () => {
    await stream.ensure({ maxBytes: 8 * MEBIBYTE });
    expect(await stream.ensure({ maxBytes: 16 * MEBIBYTE })).toMatchObject({ maxBytes: 16 * MEBIBYTE });
    expect(await stream.ensure({ maxBytes: 4 * MEBIBYTE })).toMatchObject({ maxBytes: 4 * MEBIBYTE });
    await fill(A, 40, 200 * 1024);
    const { bytes, firstSequence } = await stream.info();
    expect(bytes).toBeLessThanOrEqual(4 * MEBIBYTE);
    expect(firstSequence).toBeGreaterThan(1);
  });

  test('loses nothing when its limit is lowered below what it holds', async () => {
    await stream.ensure({ maxBytes: 8 * MEBIBYTE });
    await fill(A, 20, 200 * 1024);
    const { maxBytes, bytes } = await stream.ensure({ maxBytes: MEBIBYTE });
    expect(maxBytes).toBe(bytes);
    expect(await stream.info()).toMatchObject({ firstSequence: 1, lastSequence: 20 });
    await stream.purge(20);
    expect(await stream.ensure({ maxBytes: MEBIBYTE })).toMatchObject({
      maxBytes: MEBIBYTE,
      firstSequence: 20,
    });
  });

  test('without room in NATS fails with an error of its own', async () => {
    const small = await startNatsServer('jetstream { max_file: 1MB }');
    const connection = await connectBus({ url: small.url, name: 'test', log });
    await expect(new RegionStream(connection, A).ensure(LIMITS)).rejects.toThrow(StreamTooLarge);
    await connection.close();
    await small.dispose();
  });
});

describe('reading', () => {
  test('goes in order from a position, and shows message ids', async () => {
    const created = await stream.ensure(LIMITS);
    const start = created.lastSequence + 1;
    for (let n = 0; n < 5; n += 1) {
      bus.publish('svc.results.hosta-fra', `batch ${n}`, { reply: bus.inbox(), messageId: `order-${n}` });
    }
    // A server of 2.10 reads from its end if the start lies beyond the messages that it has stored, so the
    // test waits for them.
    const stored = collector<StreamMessage>();
    const reader = await stream.read(start, stored.handle, () => {});
    await stored.count(5);
    await reader.close();
    const seen = collector<StreamMessage>();
    const later = await stream.read(start + 2, seen.handle, () => {});
    const messages = await seen.count(3);
    expect(messages.map((message) => [message.sequence, text(message.data), message.messageId])).toEqual([
      [start + 2, 'batch 2', 'order-2'],
      [start + 3, 'batch 3', 'order-3'],
      [start + 4, 'batch 4', 'order-4'],
    ]);
    expect(await stream.message(start + 4)).toMatchObject({
      messageId: 'order-4',
      subject: 'svc.results.hosta-fra',
    });
    await later.close();
    await stream.purge(start + 4);
    expect(await stream.info()).toMatchObject({ firstSequence: start + 4, lastSequence: start + 4 });
    expect(await stream.message(start)).toBeNull();
  });

  test('a purge below the first message drops nothing', async () => {
    await stream.ensure(LIMITS);
    bus.publish('svc.results.hosta-fra', 'a', { reply: bus.inbox() });
    bus.publish('svc.results.hosta-fra', 'b', { reply: bus.inbox() });
    await bus.flush();
    for (const sequence of [1, 0]) {
      await stream.purge(sequence);
      expect(await stream.info()).toMatchObject({ firstSequence: 1, lastSequence: 2 });
    }
  });

  test('the next message is not handled before the promise of the one before is settled', async () => {
    const { lastSequence } = await stream.ensure(LIMITS);
    const gate = Promise.withResolvers<void>();
    const seen = collector<StreamMessage>();
    const reader = await stream.read(
      lastSequence + 1,
      (message) => {
        seen.handle(message);
        return gate.promise;
      },
      () => {},
    );
    bus.publish('svc.results.hosta-fra', 'one');
    bus.publish('svc.results.hosta-fra', 'two');
    await seen.count(1);
    await bus.flush();
    expect(seen.messages).toHaveLength(1);
    gate.resolve();
    await seen.count(2);
    await reader.close();
  });

  test('reading ends, and reports it once, when the connection is lost', async () => {
    const { lastSequence } = await stream.ensure(LIMITS);
    const ended = collector<unknown>();
    await stream.read(lastSequence + 1, () => {}, ended.handle);
    await server.kill();
    await ended.count(1);
    const back = collector<boolean>();
    bus.onConnection(back.handle);
    await server.restart();
    await back.count(1);
    expect(await stream.ensure(LIMITS)).toMatchObject({ lastSequence });
    expect(ended.messages).toHaveLength(1);
  });

  test('reading ends when the stream is deleted', async () => {
    const { lastSequence } = await stream.ensure(LIMITS);
    const ended = collector<unknown>();
    const reader = await stream.read(lastSequence + 1, () => {}, ended.handle);
    const manager = await jetStreamOf(bus.connection);
    await manager.streams.delete(stream.name);
    await ended.count(1);
    await reader.close();
  });

  test('reading ends when the server is silent for too long', async () => {
    const { lastSequence } = await stream.ensure(LIMITS);
    const ended = collector<unknown>();
    // The server's clock is real, so the server sends no heartbeat while the test's clock advances.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    await stream.read(lastSequence + 1, () => {}, ended.handle);
    vi.advanceTimersByTime(4_500);
    await bus.flush();
    expect(ended.messages).toEqual([]);
    vi.advanceTimersByTime(1_500);
    await ended.count(1);
    expect(String(ended.messages[0])).toContain('the server is silent');
  });

  test('asks for no more than its bound while the handler works', async () => {
    await stream.ensure(LIMITS);
    await fill(A, 40, 100 * 1024);
    const gate = Promise.withResolvers<void>();
    const seen = collector<StreamMessage>();
    const manager = await jetStreamOf(bus.connection);
    const reader = await stream.read(
      1,
      (message) => {
        seen.handle(message);
        return gate.promise;
      },
      () => {},
    );
    await seen.count(1);
    await bus.flush();
    const [consumer] = await manager.consumers.list(stream.name).next();
    expect((consumer?.delivered.consumer_seq ?? 0) * 100 * 1024).toBeLessThanOrEqual(READ_AHEAD_BYTES);
    gate.resolve();
    expect((await seen.count(40)).map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 40 }, (_, index) => index + 1),
    );
    await reader.close();
  });

  test('goes on over more messages than one request asks for', async () => {
    await stream.ensure(LIMITS);
    await fill(A, 2_000, 10);
    const seen = collector<StreamMessage>();
    const reader = await stream.read(1, seen.handle, () => {});
    const messages = await seen.count(2_000);
    expect(messages.every(({ sequence }, index) => sequence === index + 1)).toBe(true);
    expect(messages.at(-1)?.pending).toBe(0);
    await reader.close();
  });

  test('goes on after messages that have exactly the bytes that were asked for', async () => {
    await stream.ensure(LIMITS);
    const seen = collector<StreamMessage>();
    const ended = collector<unknown>();
    const reader = await stream.read(1, seen.handle, ended.handle);
    const manager = await jetStreamOf(bus.connection);
    const [consumer] = await manager.consumers.list(stream.name).next();
    // The server counts subject, reply and data. Both messages have replies of the same length.
    const reply = `$JS.ACK.${stream.name}.${consumer?.name}.1.1.1.${Date.now()}000000.0`;
    const around = `svc.results.${A}`.length + reply.length;
    const first = 150_000;
    const second = READ_AHEAD_BYTES - first - 2 * around;
    for (const bytes of [first, second, 10]) await fill(A, 1, bytes);
    await Promise.race([seen.count(3), ended.count(1)]);
    expect(ended.messages).toEqual([]);
    await reader.close();
  });

  test('removes its consumer when it is closed', async () => {
    await stream.ensure(LIMITS);
    const manager = await jetStreamOf(bus.connection);
    const reader = await stream.read(
      1,
      () => {},
      () => {},
    );
    expect(await manager.consumers.list(stream.name).next()).toHaveLength(1);
    await reader.close();
    await bus.flush();
    expect(await manager.consumers.list(stream.name).next()).toEqual([]);
  });
});
