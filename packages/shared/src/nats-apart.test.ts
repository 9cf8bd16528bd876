import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type NatsServer, startNatsServer } from '../../../test/support/nats-server.ts';
import { ApartEnded } from './nats-apart.ts';
import { connectBus, type NatsBus } from './nats-bus.ts';

let server: NatsServer;
let bus: NatsBus;
let heard: string[];
let ends: number;

beforeEach(async () => {
  server = await startNatsServer();
  bus = await connectBus({ url: server.url, name: 'test', log: pino({ level: 'silent' }) });
  heard = [];
  ends = 0;
});
afterEach(async () => {
  await bus.close();
  await server.dispose();
});

const subscribeApart = () =>
  bus.subscribeApart(
    'signs',
    ({ data }) => void heard.push(Buffer.from(data).toString()),
    () => {
      ends += 1;
    },
  );

test('what is published is handled when a round trip of its own has come back', async () => {
  const apart = await subscribeApart();
  await apart.flush();
  bus.publish('signs', 'a');
  await bus.flush();
  await apart.flush();
  expect(heard).toEqual(['a']);
  await apart.close();
});

test('closed, it drops what is on its way, and says nothing more', async () => {
  const apart = await subscribeApart();
  await apart.flush();
  const unanswered = apart.flush();
  bus.publish('signs', 'a');
  await Promise.all([apart.close(), expect(unanswered).rejects.toBeInstanceOf(ApartEnded)]);
  await apart.close();
  bus.publish('signs', 'b');
  await bus.flush();
  await expect(apart.flush()).rejects.toBeInstanceOf(ApartEnded);
  expect([heard, ends]).toEqual([[], 0]);
  expect(bus.isConnected).toBe(true);
});

test('lost, it tells so once and is not made again', async () => {
  const apart = await subscribeApart();
  await apart.flush();
  const unanswered = apart.flush();
  await Promise.all([server.kill(), unanswered.catch(() => {})]);
  await expect.poll(() => ends).toBe(1);
  await expect(apart.flush()).rejects.toBeInstanceOf(ApartEnded);
  await expect(subscribeApart()).rejects.toThrow();
  await server.restart();
  await expect.poll(() => bus.isConnected).toBe(true);
  bus.publish('signs', 'a');
  await bus.flush();
  expect([heard, ends]).toEqual([[], 1]);
});

test('where more comes than is read, the server cuts it off and not the bus', async (context) => {
  await bus.close();
  await server.dispose();
  server = await startNatsServer('max_pending: 1MB\nwrite_deadline: "1s"');
  bus = await connectBus({ url: server.url, name: 'test', log: pino({ level: 'silent' }) });
  const lost = vi.fn();
  bus.onConnection(lost);
  const apart = await bus.subscribeApart('signs', holdThread, () => {
    ends += 1;
  });
  await apart.flush();
  const script = join(import.meta.dirname, '../../../test/support/flood.ts');
  const flood = spawn(process.execPath, [script, server.url, 'signs', '500000', '8'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  context.onTestFinished(() => void flood.kill('SIGKILL'));
  await expect.poll(() => ends).toBe(1);
  flood.kill('SIGKILL');
  await bus.flush();
  expect(lost).not.toHaveBeenCalled();
});

/** Reads slowly. */
function holdThread(): void {
  const until = performance.now() + 20;
  while (performance.now() < until);
}
