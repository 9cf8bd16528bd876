import type { Clock } from '@svc/shared/clock.ts';
import { isCode, messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import {
  HEARTBEAT_INTERVAL_MS,
  type Heartbeat,
  heartbeat,
  MAX_KEPT_HEARTBEATS,
} from '@svc/shared/messages/heartbeat.ts';
import type { DispatchCounters } from '@svc/shared/metrics/dispatch-instruments.ts';
import type { Bus, HeartbeatReading, StreamMessage } from '@svc/shared/nats/bus.ts';
import type { Region } from '@svc/shared/regions.ts';
import { ThrottledLog } from '@svc/shared/throttled-log.ts';
import { aborted, pause } from '@svc/shared/waiting.ts';
import type { Agents } from './agents.ts';

/**
 * Wait before the heartbeats are read again after a reading has ended or an attempt to begin one has failed, ms.
 * It doubles with each further failure up to the second value. A cluster without a majority of its servers
 * refuses each attempt at once, and a coordinator with 32 shards makes one for each shard and region.
 */
const RETRY_FIRST_MS = 500;
const RETRY_LONGEST_MS = 4_000;
/**
 * Number of failed attempts in a row to begin a reading, after which the stream is created again (in a
 * cluster only). If the stream has no leader, the attempts take some 25 s, and an election takes 9 s.
 */
const RENEWED_AFTER = 6;

const utf8 = new TextDecoder('utf-8', { fatal: true });

export type HeartbeatReadersParts = {
  readonly bus: Pick<Bus, 'isConnected' | 'readHeartbeats'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** The regions of the installation. */
  readonly regions: readonly Region[];
  readonly counters: Pick<DispatchCounters, 'messagesDropped'>;
  readonly onHeartbeat: (region: Region, message: Heartbeat) => void;
  /** Called when the reading of the region's heartbeats begins, for the first time or again. */
  readonly onReading: (region: Region) => void;
};

/**
 * Reads the heartbeats of all regions. NATS keeps the newest heartbeat of each agent, for a bounded number of
 * agents. A reading of one region handles at most this number of heartbeats in 2 s, whatever a sender with
 * the region's key does.
 */
export class HeartbeatReaders {
  readonly #parts: HeartbeatReadersParts;
  readonly #log: ThrottledLog;
  readonly #stopping = new AbortController();
  /** The present readings. */
  readonly #readings = new Map<Region, { readonly reading: HeartbeatReading; readonly end: () => void }>();
  /** Regions whose stream is created again before their next reading. */
  readonly #renewed = new Set<Region>();
  #running: readonly Promise<void>[] = [];

  constructor(parts: HeartbeatReadersParts) {
    this.#parts = parts;
    this.#log = new ThrottledLog(parts.log, parts.clock);
  }

  /** Resolves when the heartbeats of each region are read, or the first attempt to read them has failed. */
  async open(): Promise<void> {
    const { regions } = this.#parts;
    const firsts = regions.map(() => Promise.withResolvers<void>());
    this.#running = regions.map((region, index) => this.#run(region, firsts[index]?.resolve ?? (() => {})));
    await Promise.all(firsts.map(({ promise }) => promise));
  }

  /**
   * Whether every heartbeat that the region's agents have sent since the last
   * `onReading` was handled or is on its way. Only then does silence show that
   * an agent is gone. A reading with a gap is ended, and another one begins.
   */
  async isGapless(region: Region): Promise<boolean> {
    const current = this.#readings.get(region);
    if (current === undefined) return false;
    const isGapless = await current.reading.isGapless().catch(() => false);
    if (!isGapless) current.end();
    return isGapless && this.#readings.get(region) === current;
  }

  /**
   * Begins a new reading, for which the region's stream is created again if NATS is a cluster. Called when
   * the region's last agent is gone, because the stream may be the cause: after a cluster has lost most of
   * its servers, a stream may store nothing more without any error.
   */
  renewStream(region: Region): void {
    this.#renewed.add(region);
    this.#readings.get(region)?.end();
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  async #run(region: Region, onFirst: () => void): Promise<void> {
    const { bus, clock } = this.#parts;
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      try {
        await this.#readUntilEnd(region, onFirst);
        failures = 0;
      } catch (error) {
        // Without a connection, a failure says nothing about the stream, and the bus itself reports the loss.
        failures = bus.isConnected ? failures + 1 : 0;
        if (failures > 0 && failures % RENEWED_AFTER === 0) this.#renewed.add(region);
        if (failures > 0) this.#log.warn(UNREAD, { region, error: messageOf(error) });
      }
      onFirst();
      const waitMs = RETRY_FIRST_MS * 2 ** Math.max(0, failures - 1);
      await pause(clock, Math.min(waitMs, RETRY_LONGEST_MS), signal);
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
        this.#takeHeartbeat(region, message);
        if (count < MAX_KEPT_HEARTBEATS) return;
        return pause(clock, from + HEARTBEAT_INTERVAL_MS - now, ends);
      },
      () => over.abort(),
      this.#renewed.delete(region),
    );
    this.#readings.set(region, { reading, end: () => over.abort() });
    this.#parts.onReading(region);
    onReading();
    await aborted(ends);
    this.#readings.delete(region);
    await reading.close();
  }

  #takeHeartbeat(region: Region, { subject, data }: StreamMessage): void {
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

/** The heartbeat in the message; null: the message is not a heartbeat. */
export function readHeartbeat(data: Uint8Array): Heartbeat | null {
  try {
    return heartbeat.safeParse(JSON.parse(utf8.decode(data))).data ?? null;
  } catch {
    return null;
  }
}

const DROPPED = 'dropped a heartbeat that cannot be read';
const UNREAD =
  'cannot read the heartbeats of a region: svc tries again, and counts its agents as alive meanwhile';

export type SilenceJudgeParts = {
  readonly bus: Pick<Bus, 'isConnected' | 'flush'>;
  readonly log: Logger;
  readonly readers: Pick<HeartbeatReaders, 'isGapless' | 'renewStream'>;
  readonly agents: Agents;
  /** Aborts when dispatch stops. No agent is judged after that. */
  readonly signal: AbortSignal;
};

/**
 * Decides from silence that an agent is gone. First it waits until all messages that have arrived are
 * handled, so that an agent counts as silent only if it has sent nothing.
 */
export class SilenceJudge {
  readonly #parts: SilenceJudgeParts;
  /** Monotonic instant before which no silence is judged, ms. */
  #from = 0;
  /** Regions whose silence is being judged. */
  readonly #judging = new Set<Region>();

  constructor(parts: SilenceJudgeParts) {
    this.#parts = parts;
  }

  /**
   * Judges no silence before `from`. Called when this process stood still or was not connected.
   *
   * @param from monotonic instant, ms; an instant before the present bound changes nothing
   */
  waitUntil(from: number): void {
    this.#from = Math.max(this.#from, from);
  }

  /** Whether silence can be judged at `now` (monotonic, ms). */
  canJudge(now: number): boolean {
    return now >= this.#from && this.#parts.bus.isConnected;
  }

  /**
   * Judges the silence of each region with an overdue agent. Called in every tick.
   *
   * @param asOf monotonic instant, ms
   */
  judgeSilence(asOf: number): void {
    const { bus, agents } = this.#parts;
    if (!this.canJudge(asOf)) return;
    const concerned = [...new Set(agents.silentRegions(asOf))].filter((region) => !this.#judging.has(region));
    if (concerned.length === 0) return;
    const flushed = bus.flush();
    for (const region of concerned) void this.#judgeRegion(region, asOf, flushed);
  }

  /**
   * Waits for a round trip to the server before it judges: after the round trip, every message that was sent
   * in time has been handled. The stream may have had no leader although this process was connected.
   */
  async #judgeRegion(region: Region, asOf: number, flushed: Promise<void>): Promise<void> {
    const { bus, log, readers, agents, signal } = this.#parts;
    this.#judging.add(region);
    try {
      const [isGapless] = await Promise.all([readers.isGapless(region), flushed]);
      if (!isGapless || signal.aborted || asOf < this.#from) return;
      agents.forgetSilentAgents(region, asOf);
      if (agents.agentsOf(region).next().done === true) readers.renewStream(region);
    } catch (error) {
      // The bus itself reports a lost connection, somewhat later.
      if (bus.isConnected && !isCode(error, 'bus-disconnected'))
        log.error({ error, region }, 'cannot judge the silence of a region');
    } finally {
      this.#judging.delete(region);
    }
  }
}
