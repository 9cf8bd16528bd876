import type { Bus, ResultStreams, StreamInfo } from '@svc/shared/bus.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { FORMER_RESULTS_STREAM, resultsStream } from '@svc/shared/messages/subjects.ts';
import { aborted, onAbort } from '@svc/shared/on-abort.ts';
import { pause } from '@svc/shared/pause.ts';
import { REGIONS, type Region } from '@svc/shared/regions.ts';
import { DropLog } from './drop-log.ts';
import type { Recorder } from './recorder.ts';
import type { RecordedResult } from './result-feed.ts';
import { streamLimit } from './stream-limits.ts';
import { DROPS, FAILURES, StreamReader, type StreamReaderParts } from './stream-reader.ts';
import { Turns } from './turns.ts';

const RETRY_MS = 500;
/** What is recorded is purged, and limits are looked at, this often, ms. */
const MAINTAIN_EVERY_MS = 10_000;

export type ConsumerParts = {
  readonly bus: Pick<Bus, 'isConnected' | 'onConnection'>;
  readonly streams: ResultStreams;
  readonly recorder: StreamReaderParts['recorder'] & Pick<Recorder, 'feed'>;
  /** Its part of the limit is an equal one, and its stream is made before it needs it. */
  readonly hadAgentWithin24h: (region: Region) => boolean;
  readonly clock: Clock;
  readonly log: Logger;
  /** Bound of all streams' files together, bytes; the oldest results of a region are dropped above its part. */
  readonly maxBytes: number;
};

/**
 * Reads every region's stream of results into the recorder, for as long as it runs; across reconnects, with
 * a reading of each stream per connection.
 *
 *     waiting ── connected ──▶ former ── the stream of before is read and removed ──▶ reading
 *        ▲                        └──────────────── disconnected ────────────────────────┘
 *
 * The stream of before comes first, because what a region said earlier has to be recorded earlier. Streams
 * are read at the same time, message by message in turns, and what of one waits to be recorded is bounded:
 * the backlog of a region delays others by a few batches at most.
 */
export class ResultConsumer {
  readonly #parts: ConsumerParts;
  readonly #drops: DropLog<(typeof DROPS)[number]>;
  readonly #failures: DropLog<(typeof FAILURES)[number]>;
  readonly #turns: Turns;
  readonly #stopping = new AbortController();
  /** Of the streams that are read now. */
  readonly #readers = new Map<string, StreamReader>();
  /** Regions that came to life and whose stream is not looked at yet. */
  readonly #joining = new Set<Region>();
  #join: Promise<void> | null = null;
  /** Streams of regions are read. */
  #isReading = false;
  #running: Promise<void> = Promise.resolve();
  #cancelMaintenance: () => void = () => {};
  #stopListening: () => void = () => {};

  constructor(parts: ConsumerParts) {
    this.#parts = parts;
    this.#drops = new DropLog(DROPS, parts.clock, parts.log);
    this.#failures = new DropLog(FAILURES, parts.clock, parts.log);
    this.#turns = new Turns(parts.clock);
  }

  start(): void {
    this.#cancelMaintenance = this.#parts.clock.every(MAINTAIN_EVERY_MS, () => void this.#maintain());
    this.#stopListening = this.#parts.recorder.feed.onResults((results) => this.#recorded(results));
    this.#running = this.#run();
  }

  /** Stops reading; what was read is the recorder's. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelMaintenance();
    this.#stopListening();
    await this.#running;
    await this.#join;
  }

  /** The region has its first live agent: from now on it has a stream. */
  regionCame(region: Region): void {
    if (this.#readers.has(resultsStream(region))) return;
    this.#joining.add(region);
    this.#join ??= this.#joinAll().finally(() => {
      this.#join = null;
    });
  }

  /** Since the start. `results-dropped` are messages that a stream's limit took before they were read. */
  get dropped(): Readonly<Record<(typeof DROPS)[number], number>> {
    return this.#drops.counts;
  }

  /** How much later than usual the last message was read, ms, where it is most: what streams hold unread is as old. */
  get lagMs(): number {
    let lagMs = 0;
    for (const reader of this.#readers.values()) lagMs = Math.max(lagMs, reader.lagMs);
    return lagMs;
  }

  /**
   * Resolves when everything is recorded that the region's stream holds now, or that all of them hold; waits for
   * a connection when there is none.
   */
  async caughtUp(region?: Region): Promise<void> {
    const { signal } = this.#stopping;
    const regions = region === undefined ? REGIONS : [region];
    while (!signal.aborted) {
      if (this.#isReading && (await this.#isRecorded(await this.#listed(), regions))) return;
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

  /** Reads all streams until the signal. */
  async #readWhile(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await this.#readFormer(signal);
    if (signal.aborted) return;
    const existing = await this.#parts.streams.list();
    await this.#divide(existing);
    if (signal.aborted) return;
    this.#isReading = true;
    for (const region of REGIONS) {
      if (existing.has(resultsStream(region)) || this.#parts.hadAgentWithin24h(region)) this.#read(region);
    }
    await aborted(signal);
  }

  /** Versions before this one kept all regions' results in one stream: it is read to its end and removed. */
  async #readFormer(signal: AbortSignal): Promise<void> {
    const { streams, hadAgentWithin24h, log } = this.#parts;
    const former = await streams.retireFormer();
    if (former === null) return;
    log.info({ stream: FORMER_RESULTS_STREAM, ...former }, 'reading the stream of before to its end');
    // From here on nobody keeps what agents send; they send it again, but not for ever.
    for (const region of REGIONS) if (hadAgentWithin24h(region)) await this.#tryToEnsure(region);
    const reader = this.#startReader(FORMER_RESULTS_STREAM, async () => former);
    // It may be emptied or removed by hand meanwhile: then nothing is left to be read.
    for (
      let left: StreamInfo | null = former;
      left !== null && !signal.aborted;
      left = await this.#former()
    ) {
      if (reader.hasRecorded(lastOf(left))) break;
      await pause(this.#parts.clock, RETRY_MS / 10, this.#stopping.signal);
    }
    if (signal.aborted) return;
    await reader.stop();
    this.#readers.delete(FORMER_RESULTS_STREAM);
    await streams.removeFormer();
    log.info({ stream: FORMER_RESULTS_STREAM }, 'the stream of before is read and removed');
  }

  #read(region: Region): void {
    const stream = resultsStream(region);
    if (!this.#readers.has(stream)) this.#startReader(stream, () => this.#ensure(region));
  }

  #startReader(stream: string, prepare: () => Promise<StreamInfo>): StreamReader {
    const { streams, recorder, clock, log } = this.#parts;
    const reader = new StreamReader({
      stream,
      streams,
      prepare,
      recorder,
      drops: this.#drops,
      failures: this.#failures,
      turns: this.#turns,
      clock,
      log,
    });
    this.#readers.set(stream, reader);
    reader.start();
    return reader;
  }

  async #ensure(region: Region): Promise<StreamInfo> {
    const maxBytes = this.#limitOf(region);
    const info = await this.#parts.streams.ensure(region, { maxBytes });
    if (info.maxBytes < maxBytes) {
      const details = { stream: resultsStream(region), maxBytes: info.maxBytes, wanted: maxBytes };
      this.#failures.add(
        'limit-refused',
        details,
        'NATS has no room for the whole limit of a stream of results: give it more, or make SVC_RESULTS_MAX_BYTES smaller',
      );
    }
    return info;
  }

  /** What one region cannot be given must not keep the others from being read. */
  async #tryToEnsure(region: Region): Promise<void> {
    try {
      await this.#ensure(region);
    } catch (error) {
      this.#failed(error);
    }
  }

  #limitOf(region: Region): number {
    const { maxBytes, hadAgentWithin24h } = this.#parts;
    const activeRegions = REGIONS.filter(hadAgentWithin24h).length;
    return streamLimit(maxBytes, { isActive: hadAgentWithin24h(region), activeRegions });
  }

  /** Never rejects. */
  async #joinAll(): Promise<void> {
    // Whoever comes in the same turn of the event loop goes along.
    await Promise.resolve();
    while (this.#joining.size > 0 && !this.#stopping.signal.aborted) {
      const regions = [...this.#joining];
      this.#joining.clear();
      // Without a connection there is nothing to do: at the next one every region with an agent gets a stream.
      if (!this.#parts.bus.isConnected) continue;
      try {
        await this.#divide(await this.#parts.streams.list());
        for (const region of regions) await this.#tryToEnsure(region);
      } catch (error) {
        this.#failed(error);
      }
      // Where it could not be made the reader tries again.
      if (this.#isReading) for (const region of regions) this.#read(region);
    }
  }

  async #maintain(): Promise<void> {
    for (const reader of this.#readers.values()) await reader.purge();
    if (!this.#isReading) return;
    try {
      await this.#divide(await this.#parts.streams.list());
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Gives the streams that there are their parts of the limit; what is taken first can then be given. */
  async #divide(existing: ReadonlyMap<string, StreamInfo>): Promise<void> {
    const changes: { region: Region; growth: number }[] = [];
    for (const region of REGIONS) {
      const info = existing.get(resultsStream(region));
      const growth = info === undefined ? 0 : this.#limitOf(region) - info.maxBytes;
      if (growth !== 0) changes.push({ region, growth });
    }
    changes.sort((a, b) => a.growth - b.growth);
    for (const { region } of changes) await this.#tryToEnsure(region);
  }

  #recorded(results: readonly RecordedResult[]): void {
    const fresh = new Map<Region, number>();
    for (const { region, isNew } of results) if (isNew) fresh.set(region, (fresh.get(region) ?? 0) + 1);
    for (const [region, count] of fresh) this.#readers.get(resultsStream(region))?.recordedNew(count);
  }

  async #listed(): Promise<ReadonlyMap<string, StreamInfo> | null> {
    try {
      return await this.#parts.streams.list();
    } catch {
      // No connection: asked again.
      return null;
    }
  }

  /** Null when it is gone. */
  async #former(): Promise<StreamInfo | null> {
    return (await this.#parts.streams.list()).get(FORMER_RESULTS_STREAM) ?? null;
  }

  /** False when a reading ended meanwhile, or has not begun. */
  async #isRecorded(
    streams: ReadonlyMap<string, StreamInfo> | null,
    regions: readonly Region[],
  ): Promise<boolean> {
    if (streams === null) return false;
    for (const region of regions) {
      const stream = resultsStream(region);
      const info = streams.get(stream);
      if (info === undefined) continue;
      const reader = this.#readers.get(stream);
      if (reader === undefined || !(await reader.recordedUpTo(lastOf(info)))) return false;
    }
    return true;
  }

  #failed(error: unknown): void {
    const details = { error: messageOf(error) };
    this.#failures.add(
      'reading-failed',
      details,
      'looking after the streams of results failed; it is tried again',
    );
  }

  /** Resolves when the bus is connected, or when this is stopped. */
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

/** Sequence of the last message that the stream holds; 0: it holds none. */
function lastOf({ firstSequence, lastSequence }: StreamInfo): number {
  return firstSequence > lastSequence ? 0 : lastSequence;
}
