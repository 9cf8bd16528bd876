/**
 * The streams of a region's shards: results reach the leader
 * of their monitor's shard, whichever stream they are in.
 */
import { systemClock } from '@svc/shared/clock.ts';
import { createLogger } from '@svc/shared/log.ts';
import { resultsStream, resultsSubject } from '@svc/shared/messages/subjects.ts';
import { connectBus } from '@svc/shared/nats/nats-bus.ts';
import { NatsResultStreams } from '@svc/shared/nats/result-streams.ts';
import type { Region } from '@svc/shared/regions.ts';
import { expect, test } from 'vitest';
import { liveMonitor, Recording, THREE } from '../../../../test/support/coordinator/recording.ts';
import { startedConsumer } from '../../../../test/support/coordinator/started-consumer.ts';
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

test('the leader of shard 0 records its own results, moves those of another shard, and reads streams of former shards', async (context) => {
  const log = createLogger('test', 'silent');
  const server = await startNatsServer();
  const bus = await connectBus({ url: server.url, name: 'test', log });
  const streams = new NatsResultStreams(bus);
  const recording = await Recording.open(systemClock);
  for (const id of [2, 4]) await recording.declare(liveMonitor(id));
  // The streams are made as for one shard, and then as for six shards.
  await streams.ensure(A, { maxBytes: MAX_BYTES });
  await streams.ensure(A, { maxBytes: MAX_BYTES, hasOthers: true });
  for (const shard of [1, 5]) await streams.ensure(A, { maxBytes: MAX_BYTES, shard });
  const consumer = startedConsumer({
    shard: { id: 0, count: 2 },
    ...{ bus, streams, recording, maxBytes: MAX_BYTES },
    hadAgentWithin24h: (region) => region === A,
  });
  context.onTestFinished(async () => {
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
  publish(0, 1, 2, 3);
  publish(5, 4, 5);
  const recorded = async () => (await recording.results()).map(({ monitor_id: id }) => id).sort();
  await expect.poll(recorded).toEqual([2, 4]);
  const moved = async (sequence: number) => {
    const message = await streams.message(resultsStream(A, 1), sequence);
    const { results = [] } = JSON.parse(Buffer.from(message?.data ?? '{}').toString());
    return results.map(({ monitor }: { monitor: number }) => monitor);
  };
  expect((await Promise.all([moved(1), moved(2)])).flat().sort()).toEqual([1, 3, 5]);
  expect(recording.recorder.dropped['unknown-monitor']).toBe(0);
});
