import { execFileSync } from 'node:child_process';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { collector } from '../../../../test/support/collector.ts';
import { type NatsServer, startNatsServer } from '../../../../test/support/nats-server.ts';
import type { BusMessage } from './bus.ts';
import { BusDisconnected, connectBus, type NatsBus } from './nats-bus.ts';

const log = pino({ level: 'silent' });
const text = (data: Uint8Array) => Buffer.from(data).toString();

/** Makes the client believe that it dialled its server long ago. */
function dialledLongAgo({ connection }: NatsBus): void {
  const { protocol } = connection as unknown as {
    protocol: { servers: { getCurrentServer(): { lastConnect: number } } };
  };
  protocol.servers.getCurrentServer().lastConnect = 0;
}

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

  test('a message without a subscriber is answered with "no responders" at its reply subject', async () => {
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
    // The signal takes some time to reach all threads. Until then, the server would answer the flush.
    await expect
      .poll(() => execFileSync('ps', ['-o', 'stat=', '-p', `${server.pid}`], { encoding: 'utf8' }))
      .toMatch(/^T/);
    const rejected = expect(bus.flush()).rejects.toThrow(BusDisconnected);
    await server.kill();
    await rejected;
    await server.restart();
  });

  test('a flush that waits when a connection of long ago ends is rejected in the same way', async () => {
    const back = Promise.withResolvers<void>();
    bus.onConnection((isConnected) => isConnected && back.resolve());
    // The client then dials at once, and rejects waiting questions before it reports the lost connection.
    dialledLongAgo(bus);
    const rejected = expect(bus.flush()).rejects.toThrow(BusDisconnected);
    await bus.connection.reconnect();
    await rejected;
    await back.promise;
  });
});

test('a server whose message limit is too small for svc is logged at each connection', async () => {
  const small = await startNatsServer('max_payload: 64KB');
  const lines: { level: number; maxPayload?: number }[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  const connected = await connectBus({ url: small.url, name: 'test', log: pino({}, { write }) });
  const errors = () => lines.filter(({ level }) => level === pino.levels.values.error);
  expect(errors()).toMatchObject([{ maxPayload: 65_536, needed: 576 * 1_024 }]);
  const again = Promise.withResolvers<void>();
  connected.onConnection((isConnected) => isConnected && again.resolve());
  await small.kill();
  await small.restart();
  await again.promise;
  expect(errors()).toHaveLength(2);
  await connected.close();
  await small.dispose();
});

test('the wait for a first connection is logged with its reason, and so is its end', async () => {
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
