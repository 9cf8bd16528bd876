import type { Bus, ResultStream, StreamInfo, StreamMessage } from '@svc/shared/bus.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import { DropLog } from './drop-log.ts';
import { parseResults } from './parse-results.ts';
import { ReadingLag } from './reading-lag.ts';
import type { Recorder } from './recorder.ts';

const RETRY_MS = 500;
const PURGE_EVERY_MS = 10_000;
/** Recorded messages stay in the stream for this long, ms. */
const KEEP_RECORDED_MS = 60_000;

const DROPS = [
  'malformed-message',
  'malformed-result',
  'results-dropped',
  'handling-failed',
  /** Not dropped but alarming in the same way: the stream was restored, emptied or made anew; what it held unread is lost. */
  'stream-replaced',
] as const;

export type ConsumerParts = {
  bus: Pick<Bus, 'isConnected' | 'onConnection'>;
  stream: ResultStream;
  recorder: Pick<Recorder, 'record' | 'position' | 'flushed' | 'onPosition'>;
  clock: Clock;
  log: Logger;
  /** Bound of the stream's file; the oldest results are dropped above. */
  maxBytes: number;
};

/**
 * Reads the result stream into the recorder, for as long as it runs: across reconnects and over streams
 * that were emptied, restored or made anew. The database's position is the truth; where the stream does
 * not agree with it, everything in the stream is read again and the primary key drops repeats.
 */
export class ResultConsumer {
  readonly #parts: ConsumerParts;
  readonly #drops: DropLog<(typeof DROPS)[number]>;
  readonly #failures: DropLog<'reading-failed'>;
  readonly #stopping = new AbortController();
  #hasFailed = false;
  #running: Promise<void> = Promise.resolve();
  #cancelPurge: () => void = () => {};
  #stopListening: () => void = () => {};
  /** Last sequence of the stream that is read now which is recorded; null while none is read. */
  #recorded: number | null = null;
  #expected = 1;
  #created = '';
  #purgedBelow = 0;
  readonly #lag: ReadingLag;
  #history: { at: number; sequence: number }[] = [];
  #changeListeners = new Set<() => void>();

  constructor(parts: ConsumerParts) {
    this.#parts = parts;
    this.#lag = new ReadingLag(parts.clock);
    this.#drops = new DropLog(DROPS, parts.clock, parts.log);
    this.#failures = new DropLog(['reading-failed'], parts.clock, parts.log);
  }

  start(): void {
    const { recorder, clock } = this.#parts;
    this.#stopListening = recorder.onPosition((position) => {
      if (this.#recorded === null || position.created !== this.#created) return;
      this.#setRecorded(position.sequence);
    });
    this.#cancelPurge = clock.every(PURGE_EVERY_MS, () => void this.#purge());
    this.#running = this.#run();
  }

  /** Stops reading; what was read is the recorder's. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelPurge();
    this.#stopListening();
    this.#told();
    await this.#running;
  }

  /** Since the start. `results-dropped` are messages that the stream's limit took before they were read. */
  get dropped(): Readonly<Record<(typeof DROPS)[number], number>> {
    return this.#drops.counts;
  }

  /** How much later than usual the last message was read, ms: what the stream holds unread is as old. */
  get lagMs(): number {
    return this.#lag.ms;
  }

  /** Resolves when everything is recorded that the stream holds now; waits for a connection when there is none. */
  async caughtUp(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const target = this.#recorded === null ? null : await this.#lastSequence();
      if (target !== null && (await this.#recordedUpTo(target))) return;
      if (target === null) await this.#pause(RETRY_MS / 10);
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#connected();
        if (!signal.aborted) await this.#readOnce();
      } catch (error) {
        this.#hasFailed = true;
        this.#failures.add(
          'reading-failed',
          { error: messageOf(error) },
          'reading results failed; it is tried again',
        );
      }
      this.#setRecorded(null);
      await this.#pause(RETRY_MS);
    }
  }

  /** Reads until the reading ends or this is stopped. */
  async #readOnce(): Promise<void> {
    const { stream, recorder, log, maxBytes } = this.#parts;
    // What was read before must be recorded, or the position would be an old one.
    await this.#room(recorder.flushed());
    if (this.#stopping.signal.aborted) return;
    const info = await stream.ensure({ maxBytes });
    const from = await this.#startIn(info);
    this.#created = info.created;
    this.#expected = Math.max(from, info.firstSequence);
    this.#history = [];
    const end = Promise.withResolvers<unknown>();
    const stop = () => end.resolve(null);
    const { signal } = this.#stopping;
    signal.addEventListener('abort', stop);
    this.#setRecorded(this.#expected - 1);
    const reader = await stream.read(from, (message) => this.#handle(message), end.resolve);
    if (this.#hasFailed) log.info({ event: 'recovered' }, 'results are read again');
    this.#hasFailed = false;
    const error = signal.aborted ? null : await end.promise;
    signal.removeEventListener('abort', stop);
    await reader.close();
    if (error !== null) log.info({ reason: messageOf(error) }, 'reading results ended; it starts again');
  }

  /** The first sequence to read: after the recorded position, when this is still the stream it belongs to. */
  async #startIn(info: StreamInfo): Promise<number> {
    const { recorder, stream } = this.#parts;
    const { position } = recorder;
    if (position === null) return 1;
    const { sequence, created, messageId, time } = position;
    const again = (why: string): number => {
      this.#drops.add(
        'stream-replaced',
        { sequence, why, ...info },
        'the result stream is not the one that was read: reading all of it',
      );
      return 1;
    };
    if (created !== info.created) return again('it was made anew');
    if (info.lastSequence < sequence) return again('it ends before the recorded position');
    const recorded = await stream.message(sequence);
    if (recorded !== null && (recorded.messageId !== messageId || recorded.time !== time)) {
      return again('it holds another message at the recorded position');
    }
    const lost = info.firstSequence - sequence - 1;
    if (lost > 0) this.#lost(lost, time);
    return sequence + 1;
  }

  #handle(message: StreamMessage): Promise<void> | undefined {
    const { recorder } = this.#parts;
    this.#lag.read(message);
    const { sequence, messageId, time } = message;
    if (sequence > this.#expected) this.#lost(sequence - this.#expected, time);
    this.#expected = sequence + 1;
    const position = { created: this.#created, sequence, messageId, time };
    const parsed = parseResults(message);
    try {
      if (typeof parsed === 'string') {
        const details = { subject: message.subject, sequence, why: parsed };
        this.#drops.add('malformed-message', details, 'dropped a message that is no batch of results');
        return this.#room(recorder.record({ region: null, agent: '', results: [], position }));
      }
      const { region, agent, results, malformed } = parsed;
      if (malformed > 0) {
        const details = { region, agent, sequence };
        this.#drops.add('malformed-result', details, 'dropped results that do not parse', malformed);
      }
      return this.#room(recorder.record({ region, agent, results, position }));
    } catch (error) {
      this.#drops.add('handling-failed', { error, sequence }, 'dropped a message that could not be handled');
      return undefined;
    }
  }

  /** `room` at the latest when this is stopped: a database that takes nothing must not hold the end. */
  #room(room: Promise<void> | undefined): Promise<void> | undefined {
    if (room === undefined) return undefined;
    const { signal } = this.#stopping;
    return new Promise((resolve) => {
      const end = () => {
        signal.removeEventListener('abort', end);
        resolve();
      };
      signal.addEventListener('abort', end);
      void room.then(end);
    });
  }

  #lost(count: number, time: number): void {
    this.#drops.add(
      'results-dropped',
      { messages: count, after: new Date(time).toISOString() },
      'results were lost: the stream dropped messages before they were read (its limit is too small)',
      count,
    );
  }

  async #purge(): Promise<void> {
    const { stream, clock, log } = this.#parts;
    const recorded = this.#recorded;
    if (recorded === null || recorded < 1) return;
    const now = clock.monotonic();
    this.#history.push({ at: now, sequence: recorded });
    const old = this.#history.findLast((entry) => entry.at <= now - KEEP_RECORDED_MS);
    if (old === undefined || old.sequence <= this.#purgedBelow) return;
    this.#history = this.#history.filter((entry) => entry.at >= old.at);
    try {
      // The message at the position stays: by it a restored stream is told from this one.
      await stream.purge(old.sequence);
      this.#purgedBelow = old.sequence;
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'recorded results could not be purged; it is tried again');
    }
  }

  async #lastSequence(): Promise<number | null> {
    try {
      const { firstSequence, lastSequence } = await this.#parts.stream.info();
      return firstSequence > lastSequence ? 0 : lastSequence;
    } catch {
      // No connection, or the stream is being made: asked again.
      return null;
    }
  }

  /** False when the reading ended meanwhile. */
  async #recordedUpTo(target: number): Promise<boolean> {
    while (this.#recorded !== null && this.#recorded < target) {
      await new Promise<void>((resolve) => {
        const listener = () => {
          this.#changeListeners.delete(listener);
          resolve();
        };
        this.#changeListeners.add(listener);
      });
      if (this.#stopping.signal.aborted) return true;
    }
    return this.#recorded !== null;
  }

  #setRecorded(sequence: number | null): void {
    this.#recorded = sequence;
    if (sequence === null) this.#purgedBelow = 0;
    this.#told();
  }

  #told(): void {
    for (const listener of [...this.#changeListeners]) listener();
  }

  #connected(): Promise<void> {
    const { bus } = this.#parts;
    if (bus.isConnected || this.#stopping.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        stopWatching();
        resolve();
      };
      const stopWatching = bus.onConnection((isConnected) => {
        if (isConnected) end();
      });
      this.#stopping.signal.addEventListener('abort', end, { once: true });
    });
  }

  #pause(ms: number): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const cancel = this.#parts.clock.after(ms, end);
      signal.addEventListener('abort', end);
    });
  }
}
