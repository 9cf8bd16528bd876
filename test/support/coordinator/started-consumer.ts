import { ResultConsumer } from '@svc/coordinator/checks/consumer.ts';
import { ONLY_SHARD, type Shard } from '@svc/coordinator/verdict/shard.ts';
import { type Clock, systemClock } from '@svc/shared/clock.ts';
import { resultsStream } from '@svc/shared/messages/subjects.ts';
import type { NatsBus } from '@svc/shared/nats/nats-bus.ts';
import type { NatsResultStreams } from '@svc/shared/nats/result-streams.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { expect } from 'vitest';
import { log } from './dispatch-parts.ts';
import type { Recording } from './recording.ts';

/** A consumer that reads the streams of all regions for a recording. */
export function startedConsumer({
  recording,
  ...parts
}: {
  bus: NatsBus;
  streams: NatsResultStreams;
  recording: Recording;
  maxBytes: number;
  hadAgentWithin24h: (region: Region) => boolean;
  /** The shard whose results are read; left out: the only shard. */
  shard?: Shard;
  clock?: Clock;
}): ResultConsumer {
  const consumer = new ResultConsumer({
    regions: REGIONS,
    shard: ONLY_SHARD,
    clock: systemClock,
    ...parts,
    recorder: recording.recorder,
    log,
  });
  consumer.start();
  return consumer;
}

/** Resolves when each of the regions has its stream, which keeps messages from then on. */
export async function streamsThere(streams: NatsResultStreams, regions: Iterable<Region>): Promise<void> {
  const missing = async () => {
    const there = await streams.list();
    return [...regions].filter((region) => !there.has(resultsStream(region)));
  };
  await expect.poll(missing).toEqual([]);
}
