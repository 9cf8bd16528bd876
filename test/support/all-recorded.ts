import { connectBus } from '@svc/shared/nats/nats-bus.ts';
import { NatsResultStreams } from '@svc/shared/nats/result-streams.ts';
import { pino } from 'pino';
import { expect } from 'vitest';

/** A running service whose NATS server has no accounts. */
type Running = {
  readonly nats: { readonly url: string };
  query<Row>(sql: string): Promise<Row[]>;
};

type Position = { readonly stream: string; readonly sequence: number };

/**
 * Resolves when the coordinator has recorded the messages that the streams of results
 * had at the call. If all agents have ended before, all results are then recorded.
 */
export async function allRecorded(service: Running): Promise<void> {
  const bus = await connectBus({ url: service.nats.url, name: 'test', log: pino({ level: 'silent' }) });
  try {
    const streams = [...(await new NatsResultStreams(bus).list())];
    const unrecorded = async () => {
      const positions = await service.query<Position>('SELECT stream, sequence FROM stream_positions');
      const recorded = new Map(positions.map(({ stream, sequence }) => [stream, sequence]));
      return streams.filter(([name, info]) => (recorded.get(name) ?? 0) < (info?.lastSequence ?? 0));
    };
    await expect.poll(unrecorded).toEqual([]);
  } finally {
    await bus.close();
  }
}
