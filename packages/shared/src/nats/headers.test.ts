/** Any holder of a region's key can send headers. None of them may hold the thread or end a connection. */
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { jetStreamOf } from '../../../../test/support/jetstream.ts';
import { type NatsServer, startNatsServer } from '../../../../test/support/nats-server.ts';
import { publishRaw } from '../../../../test/support/raw-nats.ts';
import { RegionStream } from '../../../../test/support/region-stream.ts';
import { threadCpu } from '../../../../test/support/thread-cpu.ts';
import type { BusMessage, StreamMessage } from './bus.ts';
import { connectBus, type NatsBus } from './nats-bus.ts';

const SUBJECT = 'svc.results.hosta-fra';
/**
 * Maximum CPU time of a message and the test around it, ms. The client itself would take seconds to read all
 * of these names.
 */
const SHORT_MS = 1_000;

const named = (count: number) =>
  Array.from({ length: count }, (_, index) => `${index.toString(36).padStart(4, '0')}:1\r\n`).join('');
const HOSTILE = [
  // A stream takes no headers above 64 KiB.
  { what: 'eight thousand names', headers: `NATS/1.0\r\n${named(8_000)}\r\n` },
  { what: 'a name that is none', headers: 'NATS/1.0\r\na b: 1\r\n\r\n' },
  { what: 'a value that is none', headers: 'NATS/1.0\r\na: 1\n2\r\n\r\n' },
  { what: 'no end', headers: `NATS/1.0\r\nNats-Msg-Id: ${'x'.repeat(60_000)}` },
];

let server: NatsServer;
let bus: NatsBus;

beforeAll(async () => {
  server = await startNatsServer();
});
afterAll(() => server.dispose());
beforeEach(async () => {
  bus = await connectBus({ url: server.url, name: 'test', log: pino({ level: 'silent' }) });
});
afterEach(async () => {
  const manager = await jetStreamOf(bus.connection);
  for await (const { config } of manager.streams.list()) await manager.streams.delete(config.name);
  await bus.close();
});

describe.each(HOSTILE)('headers with $what', ({ headers }) => {
  test('in a stream are skipped, and reading continues', async () => {
    const stream = new RegionStream(bus, 'hosta-fra');
    await stream.ensure({ maxBytes: 16 * 1024 ** 2 });
    const messages: StreamMessage[] = [];
    const ended = vi.fn();
    const reader = await stream.read(1, (message) => void messages.push(message), ended);
    const cpuMs = threadCpu();
    await publishRaw(server.url, SUBJECT, headers, 'hostile');
    bus.publish(SUBJECT, 'honest', { messageId: 'known' });
    await expect.poll(() => messages).toHaveLength(2);
    const [hostile, honest] = messages;
    expect(hostile?.messageId).toBe('');
    expect(honest?.messageId).toBe('known');
    // When a coordinator restarts, it compares stored messages with those that it has read, so both forms
    // must be the same.
    for (const message of messages) {
      const { sequence, data, messageId, time, subject } = message;
      const stored = await stream.message(sequence);
      expect(stored).toMatchObject({ sequence, messageId, time, subject });
      expect(Buffer.from(stored?.data ?? []).equals(data)).toBe(true);
    }
    expect(cpuMs()).toBeLessThan(SHORT_MS);
    expect(ended).not.toHaveBeenCalled();
    await reader.close();
  });

  test('of a message without data are skipped', async () => {
    const messages: BusMessage[] = [];
    const subscription = bus.subscribe('svc.runs.hosta-fra.one', (message) => void messages.push(message));
    await bus.flush();
    const cpuMs = threadCpu();
    await publishRaw(server.url, 'svc.runs.hosta-fra.one', headers, '');
    await expect.poll(() => messages).toHaveLength(1);
    expect(messages[0]?.isNoResponders).toBe(false);
    expect(messages[0]?.bytes).toBeGreaterThanOrEqual(headers.length);
    expect(cpuMs()).toBeLessThan(SHORT_MS);
    subscription.close();
  });
});
