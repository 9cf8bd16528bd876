import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import {
  HEARTBEAT_INTERVAL_MS,
  type Heartbeat,
  heartbeat,
  MAX_KEPT_HEARTBEATS,
} from '@svc/shared/messages/heartbeat.ts';
import type { Bus, StreamMessage } from '@svc/shared/nats/bus.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { ThrottledLog } from '@svc/shared/throttled-log.ts';
import { aborted, pause } from '@svc/shared/waiting.ts';
import type { DispatchCounters } from './counters.ts';

/** Wait until a reading that has ended is begun again, ms. */
const RETRY_MS = 500;

const utf8 = new TextDecoder('utf-8', { fatal: true });

export type HeartbeatReadersParts = {
  readonly bus: Pick<Bus, 'isConnected' | 'readHeartbeats'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly counters: Pick<DispatchCounters, 'messagesDropped'>;
  readonly onHeartbeat: (region: Region, message: Heartbeat) => void;
  /** Called when the region's heartbeats begin to be read, for the first time or again. */
  readonly onReading: (region: Region) => void;
};

/**
 * Reads the heartbeats of all regions. NATS keeps the newest of each agent, and of so many agents. At most as many
 * heartbeats of a region are read in 2 s, whatever somebody with its key sends.
 */
export class HeartbeatReaders {
  readonly #parts: HeartbeatReadersParts;
  readonly #log: ThrottledLog;
  readonly #stopping = new AbortController();
  /** Regions whose heartbeats are read now. */
  readonly #read = new Set<Region>();
  #running: readonly Promise<void>[] = [];

  constructor(parts: HeartbeatReadersParts) {
    this.#parts = parts;
    this.#log = new ThrottledLog(parts.log, parts.clock);
  }

  /** Resolves when each region is read, or its first attempt has failed. */
  async open(): Promise<void> {
    const firsts = REGIONS.map(() => Promise.withResolvers<void>());
    this.#running = REGIONS.map((region, index) => this.#run(region, firsts[index]?.resolve ?? (() => {})));
    await Promise.all(firsts.map(({ promise }) => promise));
  }

  /** Whether the region's heartbeats are read, so that silence means something. */
  isRead(region: Region): boolean {
    return this.#read.has(region);
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  async #run(region: Region, onFirst: () => void): Promise<void> {
    const { bus, clock } = this.#parts;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#readUntilEnd(region, onFirst);
      } catch (error) {
        // The bus itself says that it is not connected.
        if (bus.isConnected) this.#log.warn(UNREAD, { region, error: messageOf(error) });
      }
      onFirst();
      await pause(clock, RETRY_MS, signal);
    }
  }

  async #readUntilEnd(region: Region, onReading: () => void): Promise<void> {
    const { bus, clock } = this.#parts;
    const over = new AbortController();
    const ends = AbortSignal.any([over.signal, this.#stopping.signal]);
    let from = clock.monotonic();
    let count = 0;
    const reading = await bus.readHeartbeats(
      region,
      (message) => {
        const now = clock.monotonic();
        if (now - from >= HEARTBEAT_INTERVAL_MS) {
          from = now;
          count = 0;
        }
        count += 1;
        this.#take(region, message);
        if (count < MAX_KEPT_HEARTBEATS) return;
        return pause(clock, from + HEARTBEAT_INTERVAL_MS - now, ends);
      },
      () => over.abort(),
    );
    this.#read.add(region);
    this.#parts.onReading(region);
    onReading();
    await aborted(ends);
    this.#read.delete(region);
    await reading.close();
  }

  #take(region: Region, { subject, data }: StreamMessage): void {
    const { counters, onHeartbeat } = this.#parts;
    const read = readHeartbeat(data);
    if (read !== null) {
      onHeartbeat(region, read);
      return;
    }
    counters.messagesDropped += 1;
    this.#log.warn(DROPPED, { region, subject, bytes: data.length, dropped: counters.messagesDropped });
  }
}

/** Null where the message is no heartbeat. */
export function readHeartbeat(data: Uint8Array): Heartbeat | null {
  try {
    return heartbeat.safeParse(JSON.parse(utf8.decode(data))).data ?? null;
  } catch {
    return null;
  }
}

const DROPPED = 'dropped a heartbeat that cannot be read';
const UNREAD =
  'cannot read the heartbeats of a region: svc tries again, and takes its agents for alive meanwhile';
