import { execFileSync } from 'node:child_process';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type NatsServer, startNatsServer } from '../../../test/support/nats-server.ts';
import type { BusMessage, StreamMessage } from './bus.ts';
import { BusDisconnected, connectBus, type NatsBus } from './nats-bus.ts';
import { NatsResultStream, StreamTooLarge } from './nats-result-stream.ts';

const log = pino({ level: 'silent' });
const LIMITS = { maxBytes: 64 * 1024 * 1024 };
const text = (data: Uint8Array) => Buffer.from(data).toString();

let server: NatsServer;
let bus: NatsBus;

beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.dispose());
beforeEach(async () => {
  bus = await connectBus({ url: server.url, name: 'test', log });
});
afterEach(() => bus.close());

/** A handler that keeps what it is given, and a promise of the n-th message. */
function collector<T>() {
  const messages: T[] = [];
  let wanted = Number.POSITIVE_INFINITY;
  let arrived: () => void = () => {};
  return {
    messages,
    handle(message: T) {
      messages.push(message);
      if (messages.length >= wanted) arrived();
    },
    async count(n: number): Promise<T[]> {
      if (messages.length < n) {
        await new Promise<void>((resolve) => {
          wanted = n;
          arrived = resolve;
        });
      }
      return messages;
    },
  };
}

describe('core messages', () => {
  test('a message reaches one member of a queue group', async () => {
    const seen = collector<BusMessage>();
    bus.subscribe('work', seen.handle, { queue: 'q' });
    bus.subscribe('work', seen.handle, { queue: 'q' });
    for (let n = 0; n < 10; n += 1) bus.publish('work', `job ${n}`);
    await bus.flush();
    expect(seen.messages.map((message) => text(message.data))).toEqual(
      Array.from({ length: 10 }, (_, n) => `job ${n}`),
    );
  });

  test('a message that nobody listens to is answered with "no responders" at its reply subject', async () => {
    const inbox = bus.inbox();
    const seen = collector<BusMessage>();
    bus.subscribe(inbox, seen.handle);
    bus.publish('nobody.here', 'x', { reply: inbox });
    await bus.flush();
    const [answer] = await seen.count(1);
    expect(answer?.isNoResponders).toBe(true);
  });

  test('a handler that throws does not stop the next message', async () => {
    const seen = collector<BusMessage>();
    bus.subscribe('fragile', (message) => {
      if (text(message.data) === 'bad') throw new Error('cannot read this');
      seen.handle(message);
    });
    bus.publish('fragile', 'bad');
    bus.publish('fragile', 'good');
    await bus.flush();
    expect(seen.messages.map((message) => text(message.data))).toEqual(['good']);
  });

  test('while the server is away nothing is buffered: publish and flush say so; afterwards both work', async () => {
    const changes = collector<boolean>();
    bus.onConnection(changes.handle);
    await server.kill();
    expect(await changes.count(1)).toEqual([false]);
    expect(bus.isConnected).toBe(false);
    expect(() => bus.publish('any', 'x')).toThrow(BusDisconnected);
    await expect(bus.flush()).rejects.toThrow(BusDisconnected);
    await server.restart();
    expect(await changes.count(2)).toEqual([false, true]);
    bus.publish('any', 'x');
    await bus.flush();
  });

  test('a flush that waits when the server dies is rejected', async () => {
    process.kill(server.pid, 'SIGSTOP');
    // The signal takes its time to reach all threads; until then the flush would be answered.
    await expect
      .poll(() => execFileSync('ps', ['-o', 'stat=', '-p', `${server.pid}`], { encoding: 'utf8' }))
      .toMatch(/^T/);
    const rejected = expect(bus.flush()).rejects.toThrow(BusDisconnected);
    await server.kill();
    await rejected;
    await server.restart();
  });
});

test('a first connection that has to wait says why, and when it is there', async () => {
  const absent = await startNatsServer();
  await absent.kill();
  const lines: { msg: string; servers?: string }[] = [];
  const said = Promise.withResolvers<void>();
  const write = (line: string) => {
    lines.push(JSON.parse(line));
    said.resolve();
  };
  const url = absent.url.replace('//', '//user:password@');
  const connecting = connectBus({ url, name: 'test', log: pino({}, { write }) });
  await said.promise;
  expect(lines).toMatchObject([
    { msg: 'waiting for NATS', servers: absent.url, error: 'CONNECTION_REFUSED' },
  ]);
  await absent.restart();
  await (await connecting).close();
  expect(lines[1]).toMatchObject({ event: 'recovered', msg: 'connected to NATS' });
  await absent.dispose();
});

describe('the result stream', () => {
  test('is created once, read in order from a position, and keeps message ids', async () => {
    const stream = new NatsResultStream(bus);
    const created = await stream.ensure(LIMITS);
    expect(await stream.ensure(LIMITS)).toMatchObject({ created: created.created });
    const start = created.lastSequence + 1;
    for (let n = 0; n < 5; n += 1) {
      bus.publish('svc.results.hosta-fra', `batch ${n}`, { reply: bus.inbox(), messageId: `order-${n}` });
    }
    const seen = collector<StreamMessage>();
    const reader = await stream.read(start + 2, seen.handle, () => {});
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
    await reader.close();
    await stream.purge(start + 4);
    expect(await stream.info()).toMatchObject({ firstSequence: start + 4, lastSequence: start + 4 });
    expect(await stream.message(start)).toBeNull();
  });

  test('the next message is not handled before the promise of the one before is settled', async () => {
    const stream = new NatsResultStream(bus);
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

  test('reading ends, and says so once, when the connection is lost', async () => {
    const stream = new NatsResultStream(bus);
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
    const stream = new NatsResultStream(bus);
    const { lastSequence } = await stream.ensure(LIMITS);
    const ended = collector<unknown>();
    const reader = await stream.read(lastSequence + 1, () => {}, ended.handle);
    const manager = await bus.connection.jetstreamManager();
    await manager.streams.delete('SVC_RESULTS');
    await ended.count(1);
    await reader.close();
  });
});

test('a server without room for the stream is named as such', async () => {
  const small = await startNatsServer('jetstream { max_file: 1MB }');
  const connection = await connectBus({ url: small.url, name: 'test', log });
  await expect(new NatsResultStream(connection).ensure(LIMITS)).rejects.toThrow(StreamTooLarge);
  await connection.close();
  await small.dispose();
});
