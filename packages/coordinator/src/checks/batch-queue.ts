import { setImmediate } from 'node:timers/promises';
import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { pause } from '@svc/shared/waiting.ts';
import { StoreError } from '../store/errors.ts';

/**
 * Weight from which a batch is full. This bound keeps a turn of the event loop below 20 ms, unless a single
 * event weighs more.
 */
const BATCH_WEIGHT = 512;
/** Longest time that an event waits for other events to share its transaction, ms. */
const BATCH_WAIT_MS = 250;
/** Weight of waiting events from which callers are asked to pause. */
const WAITING_WEIGHT = 16_384;
const RETRY_FIRST_MS = 100;
const RETRY_LONGEST_MS = 5_000;

export type BatchQueueParts<E> = {
  clock: Clock;
  log: Logger;
  /** Cost of the event, measured in recorded results. */
  weightOf: (event: E) => number;
  /**
   * Writes a batch in one transaction. Resolves when the batch is committed. Rejects when it is not known to
   * be committed. The queue then writes its events again, which must do no harm if they are committed after
   * all.
   */
  write: (batch: readonly E[]) => Promise<void>;
  /**
   * Splits the event into parts that can be written separately; returns only the event itself if it cannot be
   * split.
   */
  split: (event: E) => readonly E[];
  /** Called for an event that was left out, because it cannot be written although the database works. */
  onSetAside: (event: E, error: unknown) => void;
};

/**
 * A queue of events that are written in order, many at a time. An event leaves the queue when it is committed
 * or set aside.
 *
 * While the database cannot write, the first events are tried again with growing waits. If the fault lies in
 * an event, the queue finds this event by writing one event at a time. The event is set aside, so that it
 * does not stop the other events.
 */
export class BatchQueue<E> {
  readonly #parts: BatchQueueParts<E>;
  readonly #stopping = new AbortController();
  #events: E[] = [];
  /** When each event was queued, monotonic ms. */
  #queuedAt: number[] = [];
  #weight = 0;
  /** Whether a queued event is urgent, so that the next batch is written at once. */
  #isUrgent = false;
  #cancelTimer: (() => void) | null = null;
  #flushing: Promise<void> | null = null;
  #failures = 0;
  /**
   * Number of events at the front of the queue that are written one by one, because
   * one of these events cannot be written.
   */
  #oneByOne = 0;
  /** Whether the next failure ends the queue. */
  #isEnding = false;
  /** Number of events that have left the queue, less the parts that replaced a split event. */
  #done = 0;
  #waitingForRoom: (() => void)[] = [];
  /** Number of attempts to write, since the start, that failed because of the database. */
  failures = 0;

  constructor(parts: BatchQueueParts<E>) {
    this.#parts = parts;
  }

  get length(): number {
    return this.#events.length;
  }

  /** Whether the last attempt to write failed because of the database, so that all events wait. */
  get isFailing(): boolean {
    return this.#failures > 0;
  }

  /** How long the oldest event has waited, ms; 0 when no event waits. */
  get oldestMs(): number {
    const oldest = this.#queuedAt[0];
    return oldest === undefined ? 0 : this.#parts.clock.monotonic() - oldest;
  }

  /**
   * @param isUrgent whether this event, and all events queued before it, are written without waiting for
   *   further events
   */
  push(event: E, isUrgent: boolean): void {
    this.#events.push(event);
    this.#queuedAt.push(this.#parts.clock.monotonic());
    this.#weight += this.#parts.weightOf(event);
    this.#isUrgent ||= isUrgent;
    if (this.#isDue()) this.#flush();
    else this.#flushLater();
  }

  /**
   * Resolves when more events may be pushed, or the queue has stopped; undefined: more events may be pushed
   * at once.
   */
  room(): Promise<void> | undefined {
    if (this.#weight < WAITING_WEIGHT) return undefined;
    return new Promise((resolve) => this.#waitingForRoom.push(resolve));
  }

  /** Resolves when everything queued until now is written or set aside, or the queue has stopped. */
  async flushed(): Promise<void> {
    const target = this.#done + this.#events.length;
    while (this.#done < target && !this.#stopping.signal.aborted) {
      this.#flush();
      await this.#flushing;
    }
  }

  /** Writes the queued events, unless the database accepts no writes, and stops. */
  async stop(): Promise<void> {
    this.#isEnding = true;
    if (!this.isFailing) await this.flushed();
    this.#stopping.abort();
    this.#cancelTimer?.();
    await this.#flushing;
    this.#makeRoom();
  }

  /**
   * The events that wait to be written or are being written; after {@link stop}, the events that could not be
   * written.
   */
  unwritten(): readonly E[] {
    return this.#events;
  }

  #flushLater(): void {
    if (this.#flushing !== null || this.#stopping.signal.aborted) return;
    this.#cancelTimer ??= this.#parts.clock.after(BATCH_WAIT_MS, () => this.#flush());
  }

  #flush(): void {
    if (this.#flushing !== null || this.#events.length === 0 || this.#stopping.signal.aborted) return;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#flushing = this.#writeBatch().finally(() => {
      this.#flushing = null;
      if (this.#isDue()) this.#flush();
      else if (this.#events.length > 0) this.#flushLater();
    });
  }

  #isDue(): boolean {
    return this.#isUrgent || this.#weight >= BATCH_WEIGHT;
  }

  /** Tries to write the next batch until a batch is written, or the queue is stopped or empty. */
  async #writeBatch(): Promise<void> {
    while (!this.#stopping.signal.aborted && this.#events.length > 0) {
      const batch = this.#events.slice(0, this.#batchLength());
      if (batch.length === this.#events.length) this.#isUrgent = false;
      try {
        await this.#parts.write(batch);
        this.#written(batch);
        // Transactions follow each other in microtasks. Without this wait, a long queue would block the
        // thread.
        if (this.#events.length > 0) await setImmediate();
        return;
      } catch (error) {
        if (!isOwnFault(error)) await this.#failed(error);
        else if (batch.length > 1) this.#oneByOne = batch.length;
        else this.#setAside(batch[0] as E, error);
      }
    }
  }

  #batchLength(): number {
    if (this.#oneByOne > 0) return 1;
    let length = 0;
    for (let weight = 0; length < this.#events.length && weight < BATCH_WEIGHT; length += 1) {
      weight += this.#parts.weightOf(this.#events[length] as E);
    }
    return length;
  }

  #written(batch: readonly E[]): void {
    if (this.#failures > 0) {
      this.#parts.log.info({ event: 'recovered', failures: this.#failures }, 'results are recorded again');
    }
    this.#failures = 0;
    this.#oneByOne = Math.max(0, this.#oneByOne - batch.length);
    this.#leave(batch, []);
  }

  async #failed(error: unknown): Promise<void> {
    this.#failures += 1;
    this.failures += 1;
    const { log } = this.#parts;
    log.error(
      { error, failures: this.#failures, waiting: this.length },
      'results cannot be recorded: svc tries again',
    );
    if (this.#isEnding) this.#stopping.abort();
    else
      await pause(
        this.#parts.clock,
        Math.min(RETRY_FIRST_MS * 2 ** (this.#failures - 1), RETRY_LONGEST_MS),
        this.#stopping.signal,
      );
  }

  #setAside(event: E, error: unknown): void {
    const parts = this.#parts.split(event);
    if (parts.length > 1) {
      this.#oneByOne = parts.length;
      this.#leave([event], parts);
      return;
    }
    this.#oneByOne = Math.max(0, this.#oneByOne - 1);
    this.#leave([event], []);
    this.#parts.onSetAside(event, error);
  }

  /** Replaces the first events of the queue with others. */
  #leave(first: readonly E[], instead: readonly E[]): void {
    const queuedAt = this.#queuedAt[0] ?? 0;
    this.#events = instead.concat(this.#events.slice(first.length));
    this.#queuedAt = instead.map(() => queuedAt).concat(this.#queuedAt.slice(first.length));
    this.#done += first.length - instead.length;
    this.#weight += this.#weightOf(instead) - this.#weightOf(first);
    if (this.#events.length === 0) this.#weight = 0;
    if (this.#weight < WAITING_WEIGHT) this.#makeRoom();
  }

  #weightOf(events: readonly E[]): number {
    let weight = 0;
    for (let index = 0; index < events.length; index += 1) weight += this.#parts.weightOf(events[index] as E);
    return weight;
  }

  #makeRoom(): void {
    const waiting = this.#waitingForRoom;
    this.#waitingForRoom = [];
    for (const resolve of waiting) resolve();
  }
}

/**
 * Whether an event of the batch caused the error, and not the database. Every further attempt would fail too.
 */
function isOwnFault(error: unknown): boolean {
  return !(error instanceof StoreError) || error.code === 'store-constraint';
}
