/**
 * The streams of a region's shards: results reach the leader
 * of their monitor's shard, whichever stream they are in.
 */
import { type Clock, systemClock } from '@svc/shared/clock.ts';
import { createLogger } from '@svc/shared/log.ts';
import { resultsStream, resultsSubject } from '@svc/shared/messages/subjects.ts';
import { connectBus } from '@svc/shared/nats/nats-bus.ts';
import { NatsResultStreams } from '@svc/shared/nats/result-streams.ts';
import type { Region } from '@svc/shared/regions.ts';
import { expect, type TestContext, test } from 'vitest';
import { liveMonitor, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { startedConsumer } from '../../../../test/support/coordinator/started-consumer.ts';
import { FakeClock } from '../../../../test/support/fake-clock.ts';
import { startNatsServer } from '../../../../test/support/nats-server.ts';

const [A] = THREE as [Region];
const MAX_BYTES = 64 * 1024 ** 2;

const result = (monitor: number) => ({
  ...{
    monitor,
    version: 1,
    slot: 30_000,
    token: 'good',
    outcome: 'passed',
    started_at: 30_000,
    attempts: [],
  },
});

/** The streams of a server. A test may end a reading, and hold what the consumer publishes. */
class InterruptibleStreams extends NatsResultStreams {
  /** Ends the readings that are open now. */
  readonly endings = new Map<string, (error: unknown) => void>();
  held: PromiseWithResolvers<void> | null = null;

  override read(...[stream, from, handler, onEnd, created]: Parameters<NatsResultStreams['read']>) {
    this.endings.set(stream, onEnd);
    return super.read(stream, from, handler, onEnd, created);
  }

  override async publish(...to: Parameters<NatsResultStreams['publish']>): Promise<void> {
    await this.held?.promise;
    return super.publish(...to);
  }
}

/** The consumer of one of two shards, shard 0 if left out. There are streams of the shards 0, 1 and 5. */
async function opened(context: TestContext, clock: Clock = systemClock, id = 0) {
  const log = createLogger('test', 'silent');
  const server = await startNatsServer();
  const bus = await connectBus({ url: server.url, name: 'test', log });
  const streams = new InterruptibleStreams(bus);
  const recording = await Recording.open(systemClock);
  for (const id of [2, 4]) await recording.declare(liveMonitor(id));
  // The streams are made as for one shard, and then as for six shards.
  await streams.ensure(A, { maxBytes: MAX_BYTES });
  await streams.ensure(A, { maxBytes: MAX_BYTES, hasOthers: true });
  for (const shard of [1, 5]) await streams.ensure(A, { maxBytes: MAX_BYTES, shard });
  /** The streams whose states the consumer has asked for. */
  const asked = new Set<string>();
  bus.subscribe('$JS.API.STREAM.INFO.*', ({ subject }) => asked.add(subject.split('.').at(-1) ?? ''));
  const consumer = startedConsumer({
    shard: { id, count: 2 },
    ...{ bus, streams, recording, maxBytes: MAX_BYTES, clock },
    hadAgentWithin24h: (region) => region === A,
  });
  context.onTestFinished(async () => {
    streams.held?.resolve();
    await consumer.stop();
    await recording.dispose();
    await bus.close();
    await server.dispose();
  });
  const publish = (shard: number, ...monitors: number[]) =>
    bus.publish(
      resultsSubject(A, shard),
      JSON.stringify({ v: 1, agent: 'agent-1', results: monitors.map(result) }),
    );
  const recorded = async () => (await recording.results()).map(({ monitor_id: id }) => id).sort();
  return { bus, streams, recording, consumer, publish, recorded, asked };
}

test('the leader of shard 0 records its own results, moves those of another shard, and reads streams of former shards', async (context) => {
  const { streams, recording, publish, recorded } = await opened(context);
  publish(0, 1, 2, 3);
  publish(5, 4, 5);
  await expect.poll(recorded).toEqual([2, 4]);
  const moved = async (sequence: number) => {
    const message = await streams.message(resultsStream(A, 1), sequence);
    const { results = [] } = JSON.parse(Buffer.from(message?.data ?? '{}').toString());
    return results.map(({ monitor }: { monitor: number }) => monitor);
  };
  expect((await Promise.all([moved(1), moved(2)])).flat().sort()).toEqual([1, 3, 5]);
  expect(recording.recorder.dropped['unknown-monitor']).toBe(0);
});

test('the leader of another shard asks for no stream but its own', async (context) => {
  const { consumer, publish, recording, asked } = await opened(context, systemClock, 1);
  await recording.declare(liveMonitor(3));
  publish(1, 3);
  await expect.poll(async () => (await recording.results()).length).toBe(1);
  await consumer.caughtUp();
  expect(asked).toContain(resultsStream(A, 1));
  expect([...asked].filter((stream) => !stream.endsWith('_1'))).toEqual([]);
});

test('a backlog of new results in the stream of a former shard counts as lag', async (context) => {
  const clock = new FakeClock();
  const { bus, streams, consumer, publish, recorded } = await opened(context, clock);
  publish(5, 2);
  await expect.poll(recorded).toEqual([2]);
  streams.endings.get(resultsStream(A, 5))?.(new Error('ended by the test'));
  // The second message is held before it is read, so the lag is that of the first one.
  const held = Promise.withResolvers<void>();
  streams.held = held;
  publish(5, 4);
  publish(5, 1);
  await bus.flush();
  clock.advance(60_000);
  await expect.poll(recorded).toEqual([2, 4]);
  await expect.poll(() => consumer.lagMs).toBeGreaterThan(50_000);
  held.resolve();
  await expect.poll(() => consumer.lagMs).toBe(0);
});
