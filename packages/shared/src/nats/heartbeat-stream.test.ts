import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { collector } from '../../../../test/support/collector.ts';
import { jetStreamOf } from '../../../../test/support/jetstream.ts';
import { type NatsServer, startNatsServer } from '../../../../test/support/nats-server.ts';
import { MAX_HEARTBEAT_BYTES, MAX_KEPT_HEARTBEATS } from '../messages/heartbeat.ts';
import { heartbeatSubject, heartbeatsStream } from '../messages/subjects.ts';
import type { Region } from '../regions.ts';
import type { StreamMessage, StreamReading } from './bus.ts';
import { connectBus, type NatsBus } from './nats-bus.ts';

const log = pino({ level: 'silent' });
const A: Region = 'hosta-fra';
const B: Region = 'hostb-par';

let server: NatsServer;
let bus: NatsBus;
let agents: NatsBus;
let readings: StreamReading[];

beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.dispose());
beforeEach(async () => {
  bus = await connectBus({ url: server.url, name: 'coordinator', log });
  agents = await connectBus({ url: server.url, name: 'agents', log });
  readings = [];
});
afterEach(async () => {
  for (const reading of readings) await reading.close();
  const manager = await jetStreamOf(bus.connection);
  for await (const { config } of manager.streams.list()) await manager.streams.delete(config.name);
  await agents.close();
  await bus.close();
});

/** Reads a region's heartbeats: the sender and the content of each. */
async function read(region: Region, work: (message: StreamMessage) => Promise<void> | void = () => {}) {
  const seen = collector<[agent: string, text: string]>();
  const ended = collector<unknown>();
  const reading = await bus.readHeartbeats(
    region,
    (message) => {
      seen.handle([message.subject.split('.').at(-1) ?? '', Buffer.from(message.data).toString()]);
      return work(message);
    },
    ended.handle,
  );
  readings.push(reading);
  return { seen, ended, close: () => reading.close() };
}

const beat = (region: Region, boot: string, text: string): void =>
  agents.publish(heartbeatSubject(region, boot), text);

const stateOf = async (region: Region) =>
  (await (await jetStreamOf(bus.connection)).streams.info(heartbeatsStream(region))).state;

test('a reader has the newest heartbeat of each agent at once, then what comes; of its region only', async () => {
  await read(A);
  await read(B);
  for (const text of ['1', '2', '3']) for (const boot of ['one', 'two']) beat(A, boot, text);
  beat(B, 'one', 'other');
  await agents.flush();
  await expect.poll(async () => (await stateOf(A)).messages).toBe(2);
  const { seen } = await read(A);
  expect((await seen.count(2)).toSorted()).toEqual([
    ['one', '3'],
    ['two', '3'],
  ]);
  beat(A, 'one', '4');
  expect((await seen.count(3)).at(-1)).toEqual(['one', '4']);
});

test('a flood under invented names removes no agent, and no long message is kept', async () => {
  const { seen } = await read(A);
  beat(A, 'honest', '1');
  await seen.count(1);
  for (let n = 0; n < 3 * MAX_KEPT_HEARTBEATS; n += 1) beat(A, `invented-${n}`, 'x');
  await agents.flush();
  for (let n = 0; n < 1_000; n += 1) beat(A, `long-${n}`, 'x'.repeat(MAX_HEARTBEAT_BYTES - 100));
  beat(A, 'too-long', 'x'.repeat(MAX_HEARTBEAT_BYTES + 1));
  beat(A, 'honest', '2');
  await agents.flush();
  await expect.poll(() => seen.messages.at(-1)).toEqual(['honest', '2']);
  const { messages, bytes } = await stateOf(A);
  expect(messages).toBeLessThanOrEqual(MAX_KEPT_HEARTBEATS);
  expect(bytes).toBeLessThanOrEqual(1_024 ** 2);
  expect(seen.messages.some(([boot]) => boot === 'too-long')).toBe(false);
});

test('while a heartbeat is handled, NATS keeps only the newest of each agent', async () => {
  const gate = Promise.withResolvers<void>();
  const { seen } = await read(A, () => gate.promise);
  beat(A, 'one', 'first');
  await seen.count(1);
  for (let n = 1; n <= 20_000; n += 1) {
    beat(A, 'one', String(n));
    if (n % 1_000 === 0) await agents.flush();
  }
  beat(A, 'two', 'last');
  await agents.flush();
  expect(seen.messages).toHaveLength(1);
  gate.resolve();
  await expect.poll(() => seen.messages.at(-1)).toEqual(['two', 'last']);
  // Up to 16 KiB of messages may have been requested before the first one was handled, and then come too.
  expect(seen.messages.length).toBeLessThan(300);
  expect(seen.messages).toContainEqual(['one', '20000']);
});

test('a kept heartbeat is not acknowledged; without a stream the sender gets an answer', async () => {
  const answers = collector<boolean>();
  const inbox = agents.inbox();
  agents.subscribe(inbox, ({ isNoResponders }) => answers.handle(isNoResponders));
  const send = () => agents.publish(heartbeatSubject(A, 'one'), '1', { reply: inbox });
  send();
  expect(await answers.count(1)).toEqual([true]);
  const { seen } = await read(A);
  send();
  await seen.count(1);
  await agents.flush();
  expect(answers.messages).toEqual([true]);
});

test('streams of other regions are removed where nobody reads them; those with living agents are named', async () => {
  const [a, b, office] = [await read(A), await read(B), await read('office-berlin')];
  beat(A, 'one', '1');
  beat(B, 'one', '1');
  await Promise.all([a.seen.count(1), b.seen.count(1)]);
  expect(await bus.removeOtherHeartbeats([A])).toEqual([]);
  await Promise.all([b.close(), office.close()]);
  expect(await bus.removeOtherHeartbeats([A])).toEqual([B]);
  expect(b.ended.messages).toEqual([]);
  const { streams } = await jetStreamOf(bus.connection);
  for await (const name of streams.names()) expect(name).toBe(heartbeatsStream(A));
  beat(A, 'one', '2');
  expect((await a.seen.count(2)).at(-1)).toEqual(['one', '2']);
});

test('a stream with another configuration is made again', async () => {
  const manager = await jetStreamOf(bus.connection);
  await manager.streams.add({ name: heartbeatsStream(A), subjects: [heartbeatSubject(A, '*')] });
  const { seen } = await read(A);
  beat(A, 'one', '1');
  beat(A, 'one', '2');
  await seen.count(1);
  await expect.poll(async () => (await stateOf(A)).messages).toBe(1);
});

test('reading ends, and reports it once, when the server is lost; then the stream is made again', async () => {
  const { ended } = await read(A);
  await server.kill();
  await ended.count(1);
  await server.restart();
  await expect.poll(() => bus.isConnected && agents.isConnected).toBe(true);
  const { seen } = await read(A);
  beat(A, 'one', '1');
  expect(await seen.count(1)).toEqual([['one', '1']]);
  expect(ended.messages).toHaveLength(1);
});
