import { setImmediate } from 'node:timers/promises';
import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { ResultStreams, StreamInfo, StreamMessage } from '@svc/shared/nats/bus.ts';
import { onAbort, pause } from '@svc/shared/waiting.ts';
import type { StreamPosition } from '../store/results/recording-store.ts';
import type { DropLog } from './drop-log.ts';
import { type ParsedResults, parseResults } from './parse-results.ts';
import { ReadingLag, ReadingWorth } from './reading-progress.ts';
import type { Recorder } from './recorder.ts';

const RETRY_MS = 500;
/**
 * Time for which a recorded message stays in the stream, unless the stream is more
 * than half full, ms. So the results can be read again if the database lost its last
 * commits, or was restored from a copy of a few minutes ago.
 */
const KEEP_RECORDED_MS = 5 * 60_000;
/**
 * While more results of one stream than this wait to be recorded, no further message of the stream is read:
 * four batches. Results of other streams queue behind them.
 */
const WAITING_RESULTS = 2_048;

/** The kinds of dropped or wrong input that readers count and log. */
export const DROPS = [
  'malformed-message',
  'malformed-result',
  'results-dropped',
  'handling-failed',
  /**
   * The stream was restored, emptied or created again. Nothing was dropped here, but
   * unread messages of the earlier stream may be lost.
   */
  'stream-replaced',
] as const;

/** The kinds of failure that readers and the consumer log without flooding the log. */
export const FAILURES = [
  'reading-failed',
  /** NATS has no room for the full limit of a stream, so the stream is smaller than it should be. */
  'limit-refused',
] as const;

export type StreamReaderParts = {
  readonly stream: string;
  readonly streams: ResultStreams;
  /** Creates the stream if it is missing, and returns its present state. */
  readonly prepare: () => Promise<StreamInfo>;
  /**
   * Publishes results about monitors of other shards to the streams of these shards, and takes them out of the
   * message. Undefined: there are none.
   */
  readonly moveForeign: (message: ParsedResults) => Promise<void> | undefined;
  readonly recorder: Pick<Recorder, 'recordMessage' | 'positionIn' | 'flushed' | 'onPosition'>;
  readonly drops: DropLog<(typeof DROPS)[number]>;
  readonly failures: DropLog<(typeof FAILURES)[number]>;
  readonly timeSlices: TimeSlices;
  readonly clock: Clock;
  readonly log: Logger;
};

/**
 * Reads one stream of results into the recorder, even if the stream is emptied, restored or created again.
 * The position in the database is authoritative. If the stream contradicts this position, the whole stream is
 * read again, and results that are recorded already are not recorded again.
 */
export class StreamReader {
  readonly #parts: StreamReaderParts;
  readonly #stopping = new AbortController();
  readonly #lag: ReadingLag;
  readonly #worth = new ReadingWorth();
  readonly #changeListeners = new Set<() => void>();
  #hasFailed = false;
  #running: Promise<void> = Promise.resolve();
  #stopListening: () => void = () => {};
  /** Last recorded sequence of the stream that is read now; null while no stream is read. */
  #recorded: number | null = null;
  #expected = 1;
  /** When the present or last stream was created; empty: no stream was read yet. */
  #created = '';
  #purgedBelow = 0;
  #history: { at: number; sequence: number }[] = [];
  /** Messages that were read but not recorded yet, with their numbers of results. */
  #waiting: { sequence: number; results: number }[] = [];
  #waitingResults = 0;

  constructor(parts: StreamReaderParts) {
    this.#parts = parts;
    this.#lag = new ReadingLag(parts.clock);
  }

  /** Begins to read. When a reading ends or fails, another one begins after a pause. */
  start(): void {
    this.#stopListening = this.#parts.recorder.onPosition((position) => this.#positionMoved(position));
    this.#running = this.#run();
  }

  /** Stops reading. The recorder still has the messages that were read. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#stopListening();
    this.#notifyWaiting();
    await this.#running;
  }

  /**
   * How much later than usual the last message was read, ms. The lag does not change while no message is
   * read. It counts as 0 if most of what was read from the stream was not worth reading
   * ({@link ReadingWorth}).
   */
  get lagMs(): number {
    return this.#worth.isWorthIt(this.#waitingResults) ? this.#lag.ms : 0;
  }

  /** Counts results of the stream that were recorded for the first time. */
  countNew(results: number): void {
    this.#worth.countNew(results);
  }

  /** Whether the stream is read and recorded up to `sequence`. */
  hasRecorded(sequence: number): boolean {
    return this.#recorded !== null && this.#recorded >= sequence;
  }

  /**
   * Resolves with true when the stream is recorded up to `sequence`, and with false
   * when the reading ended before.
   */
  async recordedUpTo(sequence: number): Promise<boolean> {
    while (this.#recorded !== null && this.#recorded < sequence && !this.#stopping.signal.aborted) {
      await this.#nextChange();
    }
    return this.hasRecorded(sequence);
  }

  /**
   * Purges messages that were recorded at least five minutes ago, but
   * never the last recorded message. Never rejects. Called every 10 s.
   *
   * @param isHalfFull whether the stream is more than half full: younger recorded
   *   messages are purged too, so that they take no room from unread messages
   */
  async purge(isHalfFull: boolean): Promise<void> {
    const { stream, streams, clock, log } = this.#parts;
    const recorded = this.#recorded;
    if (recorded === null || recorded < 1) return;
    const now = clock.monotonic();
    this.#history.push({ at: now, sequence: recorded });
    const until = isHalfFull ? now : now - KEEP_RECORDED_MS;
    const old = this.#history.findLast((entry) => entry.at <= until);
    if (old === undefined || old.sequence <= this.#purgedBelow) return;
    this.#history = this.#history.filter((entry) => entry.at >= old.at);
    try {
      // The message at the recorded position stays, because it distinguishes this
      // stream from a restored stream.
      await streams.purge(stream, old.sequence);
      this.#purgedBelow = old.sequence;
    } catch (error) {
      log.warn({ stream, error: messageOf(error) }, 'purging recorded results failed: svc tries again');
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    const { stream, failures } = this.#parts;
    while (!signal.aborted) {
      try {
        await this.#readOnce();
      } catch (error) {
        this.#hasFailed = true;
        failures.countDrop(
          'reading-failed',
          { stream, error: messageOf(error) },
          'reading results failed: svc tries again',
        );
      }
      this.#setRecorded(null);
      await pause(this.#parts.clock, RETRY_MS, this.#stopping.signal);
    }
  }

  /** Reads until the reading ends or the reader is stopped. */
  async #readOnce(): Promise<void> {
    const { stream, streams, recorder, prepare, log } = this.#parts;
    // Waits until earlier messages are recorded, because the position would be out of date otherwise.
    await this.#unlessStopped(recorder.flushed());
    if (this.#stopping.signal.aborted) return;
    const info = await prepare();
    const from = await this.#startIn(info);
    this.#created = info.created;
    this.#expected = Math.max(from, info.firstSequence);
    this.#history = [];
    this.#waiting = [];
    this.#waitingResults = 0;
    const end = Promise.withResolvers<unknown>();
    const { signal } = this.#stopping;
    const unregister = onAbort(signal, () => end.resolve(null));
    this.#setRecorded(this.#expected - 1);
    const handle = (message: StreamMessage) => this.#handle(message);
    const reading = await streams.read(stream, from, handle, end.resolve, info.created);
    if (this.#hasFailed) log.info({ event: 'recovered', stream }, 'results are read again');
    this.#hasFailed = false;
    const error = signal.aborted ? null : await end.promise;
    unregister();
    await reading.close();
    if (error !== null) {
      log.info({ stream, reason: messageOf(error) }, 'the reading of results ended and starts again');
    }
  }

  /**
   * The first sequence to read: the sequence after the recorded position if there is one and the stream is
   * still the same, otherwise 1.
   */
  async #startIn(info: StreamInfo): Promise<number> {
    const { stream, recorder, streams, drops } = this.#parts;
    const position = recorder.positionIn(stream);
    const again = (why: string): number => {
      drops.countDrop(
        'stream-replaced',
        { stream, sequence: position?.sequence ?? 0, why, ...info },
        'the stream of results was replaced: svc reads all of it, and its earlier unread messages are lost',
      );
      return 1;
    };
    // If no message of the stream is recorded, the creation time from the last reading is compared.
    const known = position?.created ?? this.#created;
    if (known !== '' && known !== info.created) return again('it was created anew');
    if (position === null) return 1;
    const { sequence, messageId, time } = position;
    if (info.lastSequence < sequence) return again('it ends before the recorded position');
    const recorded = await streams.message(stream, sequence);
    if (recorded !== null && (recorded.messageId !== messageId || recorded.time !== time)) {
      return again('it holds another message at the recorded position');
    }
    const lost = info.firstSequence - sequence - 1;
    if (lost > 0) this.#countLost(lost, time);
    return sequence + 1;
  }

  /** Handles a message when its turn comes. Resolves when the next message may come. */
  async #handle(message: StreamMessage): Promise<void> {
    const { timeSlices } = this.#parts;
    const pause = () => (this.#stopping.signal.aborted ? undefined : timeSlices.waitForTurn());
    for (let turn = pause(); turn !== undefined; turn = pause()) await turn;
    const parsed = await parseResults(message, pause);
    const moved = typeof parsed === 'string' ? undefined : this.#parts.moveForeign(parsed);
    // If moving fails, the reading ends, and the message is read again.
    if (moved !== undefined) await moved;
    if (this.#stopping.signal.aborted) return;
    const room = this.#record(message, parsed);
    if (room !== undefined) await this.#unlessStopped(room);
    while (this.#waitingResults > WAITING_RESULTS && !this.#stopping.signal.aborted) await this.#nextChange();
  }

  /**
   * Passes the message to the recorder, also if it cannot be parsed.
   *
   * @returns a promise to wait for before the next message is read; undefined: no wait
   */
  #record(message: StreamMessage, parsed: ParsedResults | string): Promise<void> | undefined {
    const { stream, recorder, drops } = this.#parts;
    this.#lag.measureLag(message);
    const { sequence, messageId, time } = message;
    if (sequence > this.#expected) this.#countLost(sequence - this.#expected, time);
    this.#expected = sequence + 1;
    const position = { stream, created: this.#created, sequence, messageId, time };
    try {
      if (typeof parsed === 'string') {
        const details = { subject: message.subject, sequence, why: parsed };
        drops.countDrop('malformed-message', details, 'dropped a message that is not a batch of results');
        this.#worth.countRead(0, message.data.length);
        this.#addWaiting(sequence, 1);
        return recorder.recordMessage({ region: null, agent: '', results: [], position });
      }
      const { region, agent, results, malformed } = parsed;
      if (malformed > 0) {
        const details = { region, agent, sequence };
        drops.countDrop('malformed-result', details, 'dropped results that cannot be read', malformed);
      }
      this.#worth.countRead(results.length + malformed, message.data.length);
      this.#addWaiting(sequence, Math.max(1, results.length));
      return recorder.recordMessage({ region, agent, results, position });
    } catch (error) {
      drops.countDrop(
        'handling-failed',
        { stream, error, sequence },
        'dropped a message that could not be handled',
      );
      return undefined;
    }
  }

  #addWaiting(sequence: number, results: number): void {
    this.#waiting.push({ sequence, results });
    this.#waitingResults += results;
  }

  #positionMoved({ stream, created, sequence }: StreamPosition): void {
    if (stream !== this.#parts.stream || created !== this.#created || this.#recorded === null) return;
    const stillWaits = this.#waiting.findIndex((message) => message.sequence > sequence);
    const done = this.#waiting.splice(0, stillWaits === -1 ? this.#waiting.length : stillWaits);
    for (const { results } of done) this.#waitingResults -= results;
    this.#setRecorded(sequence);
  }

  /**
   * Resolves with `promise`, or when the reader is stopped: a database that accepts no writes must not delay
   * the stop.
   */
  async #unlessStopped(promise: Promise<void>): Promise<void> {
    const stopped = Promise.withResolvers<void>();
    const unregister = onAbort(this.#stopping.signal, stopped.resolve);
    await Promise.race([promise, stopped.promise]);
    unregister();
  }

  #countLost(count: number, time: number): void {
    this.#parts.drops.countDrop(
      'results-dropped',
      { stream: this.#parts.stream, messages: count, after: new Date(time).toISOString() },
      'results were lost: the stream dropped messages before they were read. Raise SVC_RESULTS_MAX_BYTES',
      count,
    );
  }

  #setRecorded(sequence: number | null): void {
    this.#recorded = sequence;
    if (sequence === null) this.#purgedBelow = 0;
    this.#notifyWaiting();
  }

  /** Resolves when a message is recorded, when the reading begins or ends, or when the reader is stopped. */
  #nextChange(): Promise<void> {
    return new Promise((resolve) => {
      const listener = () => {
        this.#changeListeners.delete(listener);
        resolve();
      };
      this.#changeListeners.add(listener);
    });
  }

  #notifyWaiting(): void {
    for (const listener of [...this.#changeListeners]) listener();
  }
}

/** Time that handling messages may take in one turn of the event loop, ms. */
const SLICE_MS = 5;

/**
 * Shares the thread among the readers of streams, and with all other work. Readers use about 5 ms of each
 * turn of the event loop. After that, every reader waits for the next turn. In the next turn the readers
 * continue in the order in which they began to wait, one message at a time.
 */
export class TimeSlices {
  readonly #clock: Clock;
  /**
   * When the first message of this turn was handled, monotonic ms; null: no message was handled in this turn.
   */
  #startedAt: number | null = null;
  #next: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Whether the caller may continue now.
   *
   * @returns undefined: the caller may continue. Otherwise the caller waits for the promise, and calls again
   */
  waitForTurn(): Promise<void> | undefined {
    if (this.#startedAt === null) {
      this.#startedAt = this.#clock.monotonic();
      this.#next = setImmediate().then(() => {
        this.#startedAt = null;
      });
      return undefined;
    }
    return this.#clock.monotonic() - this.#startedAt < SLICE_MS ? undefined : this.#next;
  }
}
