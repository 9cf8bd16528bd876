import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import { LIMITS } from '@svc/shared/limits.ts';
import type { Logger } from '@svc/shared/log.ts';
import { MESSAGE_VERSION, resultsStream, shardOfStream } from '@svc/shared/messages/subjects.ts';
import type { Bus, ResultStreams, StreamInfo } from '@svc/shared/nats/bus.ts';
import type { Region } from '@svc/shared/regions.ts';
import { aborted, onAbort, pause } from '@svc/shared/waiting.ts';
import { type Shard, shardOf } from '../verdict/shard.ts';
import { DropLog } from './drop-log.ts';
import type { ParsedResults } from './parse-results.ts';
import type { Recorder } from './recorder.ts';
import type { RecordedResult } from './result-feed.ts';
import { DROPS, FAILURES, StreamReader, type StreamReaderParts, TimeSlices } from './stream-reader.ts';

const RETRY_MS = 500;
/** Interval at which recorded messages are purged and limits are checked, ms. */
const MAINTAIN_EVERY_MS = 10_000;

export type ConsumerParts = {
  /** The shard whose results are read. */
  readonly shard: Shard;
  readonly bus: Pick<Bus, 'isConnected' | 'onConnection'>;
  readonly streams: ResultStreams;
  readonly recorder: StreamReaderParts['recorder'] & Pick<Recorder, 'feed'>;
  /**
   * Whether the region had an agent within the last 24 h. Such a region has an equal part of the limit, and
   * its stream is created before a result comes.
   */
  readonly hadAgentWithin24h: (region: Region) => boolean;
  /** The regions of the installation, in the order in which they are shown. */
  readonly regions: readonly Region[];
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * Limit that the streams of regions with a recent agent share, over all shards, bytes. A stream of another
   * region has a small limit in addition. If a stream exceeds its limit, its oldest results are dropped.
   */
  readonly maxBytes: number;
};

/**
 * Reads the shard's streams of results, one for each region, into the recorder for as long as it runs; for
 * shard 0, it also reads the streams of former shards. After each reconnect it begins a new reading of each
 * stream. Streams take turns, one message at a time. The number of unrecorded results of one stream is
 * bounded, so a region's backlog delays the results of other regions by a few batches at most.
 */
export class ResultConsumer {
  readonly #parts: ConsumerParts;
  readonly #drops: DropLog<(typeof DROPS)[number]>;
  readonly #failures: DropLog<(typeof FAILURES)[number]>;
  readonly #timeSlices: TimeSlices;
  readonly #stopping = new AbortController();
  /** The present readers, by stream. */
  readonly #readers = new Map<string, StreamReader>();
  /** Regions that became live, and whose stream has not been created or checked since. */
  readonly #joining = new Set<Region>();
  #join: Promise<void> | null = null;
  /** Whether the streams of regions are read. */
  #isReading = false;
  /** The streams, by name, from the last listing. Null: NATS did not answer for the stream. */
  #listing: ReadonlyMap<string, StreamInfo | null> = new Map();
  #running: Promise<void> = Promise.resolve();
  #cancelMaintenance: () => void = () => {};
  #stopListening: () => void = () => {};

  constructor(parts: ConsumerParts) {
    this.#parts = parts;
    this.#drops = new DropLog(DROPS, parts.clock, parts.log);
    this.#failures = new DropLog(FAILURES, parts.clock, parts.log);
    this.#timeSlices = new TimeSlices(parts.clock);
  }

  start(): void {
    this.#cancelMaintenance = this.#parts.clock.every(MAINTAIN_EVERY_MS, () => void this.#maintain());
    this.#stopListening = this.#parts.recorder.feed.onResults((results) => this.#recorded(results));
    this.#running = this.#run();
  }

  /** Stops reading. The recorder still has the messages that were read. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelMaintenance();
    this.#stopListening();
    await this.#running;
    await this.#join;
  }

  /**
   * Called when the region becomes live: creates and reads the region's stream, unless it is read already.
   */
  regionCame(region: Region): void {
    if (this.#readers.has(this.#streamOf(region))) return;
    this.#joining.add(region);
    this.#join ??= this.#joinAll().finally(() => {
      this.#join = null;
    });
  }

  /**
   * Numbers of dropped or wrong messages and results since the start. `results-dropped` counts messages that
   * a stream's limit dropped before they were read.
   */
  get dropped(): Readonly<Record<(typeof DROPS)[number], number>> {
    return this.#drops.counts;
  }

  /**
   * The sizes and limits of the regions' streams, bytes, as of the last listing. Streams are listed about
   * every {@link MAINTAIN_EVERY_MS} while NATS answers.
   */
  get streamSizes(): readonly {
    readonly region: Region;
    readonly bytes: number;
    readonly maxBytes: number;
  }[] {
    return this.#parts.regions.flatMap((region) => {
      const info = this.#listing.get(this.#streamOf(region)) ?? null;
      return info === null ? [] : [{ region, bytes: info.bytes, maxBytes: info.maxBytes }];
    });
  }

  /**
   * The largest lag of any stream, ms: how much later than usual the last message of the stream was read. See
   * {@link StreamReader.lagMs}.
   */
  get lagMs(): number {
    let lagMs = 0;
    for (const reader of this.#readers.values()) lagMs = Math.max(lagMs, reader.lagMs);
    return lagMs;
  }

  /**
   * Resolves when all messages that the region's stream of this shard contains now are recorded, or the
   * consumer is stopped. Without `region`, this applies to the streams of all regions. Without a connection,
   * it waits for a connection first.
   */
  async caughtUp(region?: Region): Promise<void> {
    const { signal } = this.#stopping;
    const regions = region === undefined ? this.#parts.regions : [region];
    while (!signal.aborted) {
      if (this.#isReading && (await this.#isRecorded(await this.#statesOf(regions), regions))) return;
      await pause(this.#parts.clock, RETRY_MS / 10, this.#stopping.signal);
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#connected();
      const lost = new AbortController();
      const stopWatching = this.#parts.bus.onConnection((isConnected) => {
        if (!isConnected) lost.abort();
      });
      try {
        await this.#readWhile(AbortSignal.any([signal, lost.signal]));
      } catch (error) {
        this.#failed(error);
      }
      stopWatching();
      this.#isReading = false;
      await Promise.all([...this.#readers.values()].map((reader) => reader.stop()));
      this.#readers.clear();
      await pause(this.#parts.clock, RETRY_MS, this.#stopping.signal);
    }
  }

  /** Reads all streams until the signal aborts. */
  async #readWhile(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    this.#isReading = true;
    this.#readKnown();
    await this.#maintainLimits();
    await aborted(signal);
  }

  /**
   * Reads the streams of the last listing and of the regions with a recent agent. It does not wait for a new
   * listing: a cluster that chooses its leader lists nothing, although it may already deliver results.
   */
  #readKnown(): void {
    for (const region of this.#parts.regions) {
      if (this.#listing.has(this.#streamOf(region)) || this.#parts.hadAgentWithin24h(region))
        this.#read(region);
      for (const shard of this.#formerShards(region)) this.#read(region, shard);
    }
  }

  /** Lists the streams, sets their limits, and reads those that are new. A failure is only logged. */
  async #maintainLimits(): Promise<void> {
    try {
      await this.#divide(await this.#list());
    } catch (error) {
      this.#failed(error);
    }
    if (this.#isReading) this.#readKnown();
  }

  /**
   * Lists the streams of the shard; for shard 0, all streams, because there may be some of former shards. If each shard
   * asked for all streams, the requests would grow with the square of the number of shards.
   */
  #list(): Promise<ReadonlyMap<string, StreamInfo | null>> {
    const { shard, regions, streams } = this.#parts;
    if (shard.id === 0) return streams.list();
    const own = new Set(regions.map((region) => this.#streamOf(region)));
    return streams.list((stream) => own.has(stream));
  }

  #streamOf(region: Region): string {
    return resultsStream(region, this.#parts.shard.id);
  }

  /**
   * The former shards that still have a stream of the region. The leader of shard 0 reads these
   * streams, because agents may still report to them after the number of shards has become smaller.
   */
  #formerShards(region: Region): number[] {
    const { id, count } = this.#parts.shard;
    if (id > 0) return [];
    return [...this.#listing.keys()].flatMap((name) => {
      const shard = shardOfStream(region, name);
      return shard === null || shard < count ? [] : [shard];
    });
  }

  #read(region: Region, shard = this.#parts.shard.id): void {
    const stream = resultsStream(region, shard);
    if (!this.#readers.has(stream)) this.#startReader(stream, () => this.#ensure(region, shard));
  }

  #startReader(stream: string, prepare: () => Promise<StreamInfo>): StreamReader {
    const { streams, recorder, clock, log } = this.#parts;
    const reader = new StreamReader({
      stream,
      streams,
      prepare,
      moveForeign: (message) => this.#moveForeign(message),
      recorder,
      drops: this.#drops,
      failures: this.#failures,
      timeSlices: this.#timeSlices,
      clock,
      log,
    });
    this.#readers.set(stream, reader);
    reader.start();
    return reader;
  }

  /** See {@link StreamReaderParts.moveForeign}. */
  #moveForeign(message: ParsedResults): Promise<void> | undefined {
    const { shard } = this.#parts;
    if (shard.count === 1) return undefined;
    const isOwn = ({ monitor }: { monitor: number }) => shardOf(monitor, shard.count) === shard.id;
    if (message.results.every(isOwn)) return undefined;
    const foreign = message.results.filter((result) => !isOwn(result));
    message.results = message.results.filter(isOwn);
    return this.#publishTo(message, foreign);
  }

  async #publishTo({ region, agent }: ParsedResults, results: ParsedResults['results']): Promise<void> {
    const { shard, streams } = this.#parts;
    for (const [id, some] of Map.groupBy(results, ({ monitor }) => shardOf(monitor, shard.count))) {
      for (const part of partsOf(some)) {
        await streams.publish(
          region,
          id,
          Buffer.from(JSON.stringify({ v: MESSAGE_VERSION, agent, results: part })),
        );
      }
    }
  }

  async #ensure(region: Region, shard = this.#parts.shard.id): Promise<StreamInfo> {
    const { streams } = this.#parts;
    const maxBytes = this.#limitOf(region);
    const hasOthers = this.#parts.shard.count > 1 || this.#formerShards(region).length > 0;
    const info = await streams.ensure(region, { maxBytes, shard, hasOthers });
    if (info.maxBytes < maxBytes) {
      const details = { stream: resultsStream(region, shard), maxBytes: info.maxBytes, wanted: maxBytes };
      this.#failures.countDrop(
        'limit-refused',
        details,
        'NATS has no room for the full limit of a stream of results: give NATS more disk space, or lower SVC_RESULTS_MAX_BYTES',
      );
    }
    return info;
  }

  /**
   * Creates a region's stream if it is missing, and sets its limit. A failure is only logged, so that it does
   * not keep other streams from being read.
   */
  async #tryToEnsure(region: Region): Promise<void> {
    try {
      await this.#ensure(region);
    } catch (error) {
      this.#failed(error);
    }
  }

  #limitOf(region: Region): number {
    const { maxBytes, hadAgentWithin24h, regions } = this.#parts;
    const activeRegions = regions.filter(hadAgentWithin24h).length;
    return streamLimit(maxBytes / this.#parts.shard.count, {
      isActive: hadAgentWithin24h(region),
      activeRegions,
    });
  }

  /** Creates the streams of joining regions. Never rejects. */
  async #joinAll(): Promise<void> {
    // Regions that come in the same turn of the event loop join together.
    await Promise.resolve();
    while (this.#joining.size > 0 && !this.#stopping.signal.aborted) {
      const regions = [...this.#joining];
      this.#joining.clear();
      // Without a connection there is nothing to do: after the next connection,
      // every region with an agent gets a stream.
      if (!this.#parts.bus.isConnected) continue;
      try {
        await this.#divide(await this.#list());
        for (const region of regions) await this.#tryToEnsure(region);
      } catch (error) {
        this.#failed(error);
      }
      // If a stream could not be created, its reader tries again.
      if (this.#isReading) for (const region of regions) this.#read(region);
    }
  }

  async #maintain(): Promise<void> {
    for (const [stream, reader] of this.#readers) {
      const info = this.#listing.get(stream) ?? null;
      await reader.purge(info !== null && 2 * info.bytes > info.maxBytes);
    }
    if (this.#isReading) await this.#maintainLimits();
  }

  /**
   * Gives the existing streams their parts of the limit. Streams that shrink come first, so that the other
   * streams have room to grow.
   */
  async #divide(existing: ReadonlyMap<string, StreamInfo | null>): Promise<void> {
    this.#listing = existing;
    const changes: { region: Region; growth: number }[] = [];
    for (const region of this.#parts.regions) {
      const info = existing.get(this.#streamOf(region)) ?? null;
      const growth = info === null ? 0 : this.#limitOf(region) - info.maxBytes;
      if (growth !== 0) changes.push({ region, growth });
    }
    changes.sort((a, b) => a.growth - b.growth);
    for (const { region } of changes) await this.#tryToEnsure(region);
  }

  #recorded(results: readonly RecordedResult[]): void {
    // The results of one message are neighbours, so they are counted together.
    let count = 0;
    for (let index = 0; index < results.length; index += 1) {
      const { stream, isNew } = results[index] as RecordedResult;
      if (isNew) count += 1;
      if (count === 0 || results[index + 1]?.stream === stream) continue;
      this.#readers.get(stream)?.countNew(count);
      count = 0;
    }
  }

  async #statesOf(regions: readonly Region[]): Promise<ReadonlyMap<string, StreamInfo | null> | null> {
    try {
      return await this.#parts.streams.states(regions.map((region) => this.#streamOf(region)));
    } catch {
      // The states could not be read, for example because the connection was lost. The caller asks again.
      return null;
    }
  }

  /**
   * Whether all messages of the regions' streams are recorded; false if this is not known: NATS does not
   * answer for a stream, or a reading ended meanwhile or has not begun.
   */
  async #isRecorded(
    streams: ReadonlyMap<string, StreamInfo | null> | null,
    regions: readonly Region[],
  ): Promise<boolean> {
    if (streams === null) return false;
    for (const region of regions) {
      const stream = this.#streamOf(region);
      const info = streams.get(stream);
      if (info === undefined) continue;
      if (info === null) return false;
      const reader = this.#readers.get(stream);
      if (reader === undefined || !(await reader.recordedUpTo(lastOf(info)))) return false;
    }
    return true;
  }

  #failed(error: unknown): void {
    const details = { error: messageOf(error) };
    this.#failures.countDrop(
      'reading-failed',
      details,
      'maintaining the streams of results failed: svc tries again',
    );
  }

  /** Resolves when the bus is connected or the consumer is stopped. */
  async #connected(): Promise<void> {
    const { bus } = this.#parts;
    if (bus.isConnected) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const unregister = onAbort(this.#stopping.signal, resolve);
    const stopWatching = bus.onConnection((isConnected) => {
      if (isConnected) resolve();
    });
    await promise;
    stopWatching();
    unregister();
  }
}

/** Splits results into parts that fit one message each. */
function* partsOf<Result>(results: readonly Result[]): Generator<Result[]> {
  for (let bytes = 0, from = 0, index = 0; index < results.length; index += 1) {
    const next = Buffer.byteLength(JSON.stringify(results[index])) + 1;
    if (index > from && bytes + next > LIMITS.messageBytes - 1_024) {
      yield results.slice(from, index);
      [from, bytes] = [index, 0];
    }
    bytes += next;
    if (index === results.length - 1) yield results.slice(from);
  }
}

/** Sequence of the last message in the stream; 0 if the stream is empty. */
function lastOf({ firstSequence, lastSequence }: StreamInfo): number {
  return firstSequence > lastSequence ? 0 : lastSequence;
}

/**
 * Bound on the stream of a region without a recent agent, bytes: room for the results that a returning agent
 * has kept.
 */
const LEAST_USED_BYTES = 64 * 1024 ** 2;

/**
 * Bound on the stream of a region for one shard, bytes. The regions that had an agent
 * within 24 h share the shard's limit equally, so that no region can take the part of
 * another region. The stream of any other region keeps a small bound, so that the
 * results of an agent that returns after a long time are not dropped at once.
 *
 * @param maxBytes the limit of all streams of the shard together
 */
function streamLimit(
  maxBytes: number,
  region: { readonly isActive: boolean; readonly activeRegions: number },
): number {
  const share = Math.floor(maxBytes / Math.max(1, region.activeRegions));
  return region.isActive ? share : Math.min(share, LEAST_USED_BYTES);
}
