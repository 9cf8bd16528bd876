import type { Bus, BusMessage } from '@svc/shared/nats/bus.ts';
import { connectBus, type NatsBus } from '@svc/shared/nats/nats-bus.ts';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../test/support/fake-clock.ts';
import { MemoryBus } from '../../../test/support/memory-bus.ts';
import { type NatsServer, startNatsServer } from '../../../test/support/nats-server.ts';
import { RegionStream } from '../../../test/support/region-stream.ts';
import { createMetrics } from './metrics.ts';
import { ResultOutbox } from './result-outbox.ts';

const log = pino({ level: 'silent' });
const SUBJECT = 'svc.results.hosta-fra';

let server: NatsServer;
let bus: NatsBus;
let stream: RegionStream;

beforeEach(async () => {
  server = await startNatsServer();
  bus = await connectBus({ url: server.url, name: 'test', log });
  stream = new RegionStream(bus, 'hosta-fra');
});

afterEach(async () => {
  await bus.close();
  await server.dispose();
});

type Bench = {
  outbox: ResultOutbox;
  clock: FakeClock;
  metrics: ReturnType<typeof createMetrics>;
  settled: string[];
  add(text: string, bytes?: number): Promise<string>;
};

function bench(mostBytes?: number, over: Bus = bus): Bench {
  const clock = new FakeClock();
  const metrics = createMetrics();
  const settled: string[] = [];
  const outbox = new ResultOutbox({
    bus: over,
    clock,
    metrics,
    log,
    ...(mostBytes === undefined ? {} : { mostBytes }),
  });
  outbox.start();
  return {
    outbox,
    clock,
    metrics,
    settled,
    add: (text, bytes = text.length) =>
      new Promise((resolve) => {
        outbox.addBatch({
          subject: SUBJECT,
          text,
          bytes,
          results: 1,
          onSettled: (how) => {
            settled.push(`${text} ${how}`);
            resolve(how);
          },
        });
      }),
  };
}

async function stored(): Promise<string[]> {
  const { lastSequence } = await stream.info();
  const messages = await Promise.all(
    Array.from({ length: lastSequence }, (_, index) => stream.message(index + 1)),
  );
  return messages.map((message) => Buffer.from(message?.data ?? []).toString());
}

function connection(is: boolean): Promise<void> {
  return new Promise((resolve) => {
    const stop = bus.onConnection((isConnected) => {
      if (isConnected !== is) return;
      stop();
      resolve();
    });
  });
}

describe('the outbox', () => {
  test('drops a batch when the stream has it', async () => {
    await stream.ensure({ maxBytes: 1e7 });
    const { outbox, add } = bench();
    expect(await Promise.all([add('one'), add('two')])).toEqual(['kept', 'kept']);
    expect(outbox.size).toBe(0);
    expect(await stored()).toEqual(['one', 'two']);
    await outbox.stop(0);
  });

  test('keeps an unacknowledged batch and sends it again every second', async () => {
    const { outbox, clock, metrics, add } = bench();
    const one = add('one');
    const sentAt: number[] = [];
    for (let elapsed = 0, sent = 1; elapsed < 5_000; elapsed += 500) {
      clock.advance(500);
      await bus.flush();
      if (metrics.batchesSent === sent) continue;
      sent = metrics.batchesSent;
      sentAt.push(clock.monotonic());
    }
    expect(sentAt).toEqual([1_000, 2_000, 3_000, 4_000, 5_000]);
    await bus.flush();
    expect(metrics.batchesRefused).toBe(6);
    await stream.ensure({ maxBytes: 1e7 });
    clock.advance(1_000);
    expect(await one).toBe('kept');
    await outbox.stop(0);
  });

  test('has 1 MiB on its way at most, whatever waits, and sends the rest in order as answers come', async () => {
    const heard: BusMessage[] = [];
    const subscription = bus.subscribe(SUBJECT, (message) => void heard.push(message));
    const { outbox, add, metrics } = bench();
    await bus.flush();
    const names = Array.from({ length: 12 }, (_, index) => `batch ${index}`);
    const all = names.map((name) => add(name, 256 * 1_024));
    await bus.flush();
    expect(heard).toHaveLength(4);
    bus.publish(heard[0]?.reply ?? '', '{"stream":"S","seq":1}');
    await bus.flush();
    await bus.flush();
    expect(heard).toHaveLength(5);
    subscription.close();
    await stream.ensure({ maxBytes: 1e7 });
    // The batches that only the subscription has heard are sent again after a reconnect.
    const back = connection(true);
    await server.kill();
    await server.restart();
    await back;
    await Promise.all(all);
    expect(await stored()).toEqual(names.slice(1));
    expect(metrics.batchesSent).toBe(5 + 11);
    await outbox.stop(0);
  });

  test('repeats nothing before the server has read the first copies', async () => {
    const slow = new MemoryBus();
    const { outbox, clock, metrics, add } = bench(undefined, slow);
    slow.freeze();
    void add('one');
    clock.advance(30_000);
    expect(metrics.batchesSent).toBe(1);
    slow.thaw();
    await clock.advanceSettling(0);
    expect(metrics.batchesSent).toBe(2);
    const stopped = outbox.stop(0);
    clock.advance(0);
    await stopped;
  });

  test('a repetition has the id of its batch, which no other batch has', async () => {
    const { outbox, clock, metrics, add } = bench();
    const ids: string[] = [];
    bus.connection.subscribe(SUBJECT, {
      callback: (_, message) => void ids.push(message.headers?.get('Nats-Msg-Id') ?? ''),
    });
    void add('one');
    clock.advance(1_000);
    await bus.flush();
    void add('two');
    await bus.flush();
    expect(metrics.batchesSent).toBe(3);
    const [first, again, other] = ids;
    expect(again).toBe(first);
    expect(new Set([first, other, '']).size).toBe(3);
    const stopped = outbox.stop(100);
    clock.advance(100);
    await stopped;
  });

  test('a repetition of a stored batch is stored once', async () => {
    await stream.ensure({ maxBytes: 1e7 });
    const { outbox, metrics, add } = bench();
    const kept = add('one');
    // The connection ends and comes back before the answer can be read.
    const lost = connection(false);
    await server.kill();
    await lost;
    const back = connection(true);
    await server.restart();
    await back;
    expect(await kept).toBe('kept');
    expect(metrics.batchesSent).toBe(2);
    expect(metrics.batchesResent).toBe(1);
    expect((await stored()).filter((text) => text === 'one')).toHaveLength(1);
    await outbox.stop(0);
  });

  test('batches added while disconnected are sent at the reconnect, in order', async () => {
    await stream.ensure({ maxBytes: 1e7 });
    const { outbox, add } = bench();
    const lost = connection(false);
    await server.stop();
    await lost;
    const all = [add('one'), add('two'), add('three')];
    expect(outbox.size).toBe(3);
    await server.restart();
    await Promise.all(all);
    expect(await stored()).toEqual(['one', 'two', 'three']);
    await outbox.stop(0);
  });

  test('is bounded: the oldest batches are dropped first, and counted', async () => {
    const { outbox, metrics, settled, add } = bench(100);
    for (const text of ['one', 'two', 'three']) void add(text, 40);
    expect(settled).toEqual(['one dropped']);
    void add('huge', 1_000);
    expect(settled).toEqual(['one dropped', 'two dropped', 'three dropped']);
    expect(metrics.resultsDropped).toBe(3);
    expect(outbox.size).toBe(1);
  });

  test('stopping waits for acknowledgements, but no longer than allowed', async () => {
    const { outbox, clock, settled, add, metrics } = bench();
    void add('one');
    const stopped = outbox.stop(1_000);
    clock.advance(999);
    expect(settled).toEqual([]);
    clock.advance(1);
    await stopped;
    expect(settled).toEqual(['one dropped']);
    expect(metrics.resultsDropped).toBe(1);
    expect(clock.pendingTimers).toBe(0);
  });

  test('stopping ends as soon as everything is acknowledged', async () => {
    await stream.ensure({ maxBytes: 1e7 });
    const { outbox, settled, add } = bench();
    void add('one');
    await outbox.stop(60_000);
    expect(settled).toEqual(['one kept']);
  });

  test('garbage in its inbox changes nothing', async () => {
    const { outbox, settled, metrics, add } = bench();
    const inboxes: string[] = [];
    bus.subscribe(SUBJECT, (message) => inboxes.push(message.reply));
    await bus.flush();
    void add('one');
    await bus.flush();
    const inbox = inboxes[0] ?? '';
    for (const answer of ['garbage', '{}', '{"error":{"code":503,"err_code":10077,"description":"full"}}']) {
      bus.publish(inbox, answer);
    }
    bus.publish(inbox.replace(/\d+$/, '99'), '{"stream":"S","seq":1}');
    await bus.flush();
    expect(metrics.batchesRefused).toBe(3);
    expect(settled).toEqual([]);
    bus.publish(inbox, '{"stream":"S","seq":1}');
    await bus.flush();
    expect(settled).toEqual(['one kept']);
    await outbox.stop(0);
  });

  test('ids of batches are random: no two are equal, and none predicts the next', async () => {
    await stream.ensure({ maxBytes: 1e7 });
    const { outbox, add } = bench();
    await Promise.all([add('one'), add('two')]);
    const ids = await Promise.all(
      [1, 2].map(async (sequence) => (await stream.message(sequence))?.messageId),
    );
    const random = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    expect(ids).toEqual([expect.stringMatching(random), expect.stringMatching(random)]);
    expect(ids[0]).not.toBe(ids[1]);
    await outbox.stop(0);
  });

  test('a first send that the stream treats as a repetition is sent again under another id, and counted', async () => {
    const { outbox, settled, metrics, add } = bench();
    const sent: { reply: string; text: string }[] = [];
    bus.subscribe(SUBJECT, ({ reply, data }) => sent.push({ reply, text: Buffer.from(data).toString() }));
    await bus.flush();
    void add('one');
    await bus.flush();
    bus.publish(sent[0]?.reply ?? '', '{"stream":"S","seq":1,"duplicate":true}');
    await bus.flush();
    expect(settled).toEqual([]);
    expect(metrics).toMatchObject({ batchesDisowned: 1, batchesAcknowledged: 0 });
    await bus.flush();
    expect(sent.map(({ text }) => text)).toEqual(['one', 'one']);
    bus.publish(sent[1]?.reply ?? '', '{"stream":"S","seq":2}');
    await bus.flush();
    expect(settled).toEqual(['one kept']);
    await outbox.stop(0);
  });

  test('a repetition that the stream recognises counts as kept', async () => {
    const { outbox, clock, settled, metrics, add } = bench();
    const replies: string[] = [];
    bus.subscribe(SUBJECT, ({ reply }) => replies.push(reply));
    await bus.flush();
    void add('one');
    clock.advance(1_000);
    await bus.flush();
    await bus.flush();
    expect(replies).toHaveLength(2);
    bus.publish(replies[1] ?? '', '{"stream":"S","seq":1,"duplicate":true}');
    await bus.flush();
    expect(settled).toEqual(['one kept']);
    expect(metrics.batchesDisowned).toBe(0);
    await outbox.stop(0);
  });

  test('a batch that the stream refuses for good is dropped', async () => {
    const { outbox, settled, add } = bench();
    const replies: string[] = [];
    bus.subscribe(SUBJECT, (message) => replies.push(message.reply));
    await bus.flush();
    void add('one');
    await bus.flush();
    bus.publish(
      replies[0] ?? '',
      '{"error":{"code":400,"err_code":10054,"description":"message size exceeds maximum"}}',
    );
    await bus.flush();
    expect(settled).toEqual(['one dropped']);
    await outbox.stop(0);
  });
});
