import { resultsStream } from '@svc/shared/messages/subjects.ts';
import type { StreamInfo, StreamMessage, StreamReading } from '@svc/shared/nats/bus.ts';
import type { NatsBus } from '@svc/shared/nats/nats-bus.ts';
import { NatsResultStreams } from '@svc/shared/nats/result-streams.ts';
import type { Region } from '@svc/shared/regions.ts';

/** The stream of results of one region, as the coordinator uses it. */
export class RegionStream {
  readonly name: string;
  readonly #region: Region;
  readonly #streams: NatsResultStreams;

  constructor(bus: NatsBus, region: Region) {
    this.name = resultsStream(region);
    this.#region = region;
    this.#streams = new NatsResultStreams(bus);
  }

  ensure(limits: { maxBytes: number }): Promise<StreamInfo> {
    return this.#streams.ensure(this.#region, limits);
  }

  async info(): Promise<StreamInfo> {
    const info = (await this.#streams.list()).get(this.name);
    if (!info) throw new Error(`there is no stream ${this.name}`);
    return info;
  }

  message(sequence: number): Promise<StreamMessage | null> {
    return this.#streams.message(this.name, sequence);
  }

  purge(belowSequence: number): Promise<void> {
    return this.#streams.purge(this.name, belowSequence);
  }

  read(
    fromSequence: number,
    handler: (message: StreamMessage) => Promise<void> | void,
    onEnd: (error: unknown) => void,
  ): Promise<StreamReading> {
    return this.#streams.read(this.name, fromSequence, handler, onEnd);
  }
}
