import { StoreError } from '@svc/coordinator/store/errors.ts';
import type { RecordedBatch, RecordingStore } from '@svc/coordinator/store/results/recording-store.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { MortalClock } from './mortal-clock.ts';

/**
 * Duration of a commit, ms. `writeMs`: until it is durable.
 * `answerMs`: from then until the process knows of it.
 */
export type CommitTime = {
  readonly writeMs: number;
  readonly answerMs: number;
  /** Whether the database accepts no writes. The batch is then not written, and is tried again. */
  readonly fails?: boolean;
};

/** First and longest wait of the queue of batches before another try, ms. */
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;

const AT_ONCE = async () => {};
/** The waits of writes that a start makes while it loads: there are none. */
const UNDELAYED = { before: AT_ONCE, after: AT_ONCE, wait: AT_ONCE, waitFor: AT_ONCE };

/** A batch on its way. Instants are monotonic ms. */
export type Flight = { readonly begunAt: number; readonly durableAt: number; readonly answeredAt: number };

/** For each delivery of a batch, whether it was queued. */
type Queued = readonly boolean[];

/** The commit of a batch: `write` is the transaction, between the waits `before` and `after`. */
export type BatchWrite = {
  readonly before: () => Promise<void>;
  readonly write: () => Promise<Queued>;
  readonly after: () => Promise<void>;
  /** A further wait on the way to the database. */
  readonly wait: (ms: number) => Promise<void>;
  /** Waits until a process that stands still continues. */
  readonly waitFor: (clock: Clock) => Promise<void>;
};

/** Commits a batch. */
export type CommitBatch = (batch: BatchWrite) => Promise<Queued>;

export const commitAlone: CommitBatch = async ({ before, write, after }) => {
  await before();
  const isQueued = await write();
  await after();
  return isQueued;
};

/** The calls by which the store reports the progress of each batch. */
export type BatchLife = {
  /** Called when a batch was evaluated and its writing begins. */
  readonly evaluated: () => void;
  /** Called when the batch is durable. */
  readonly durable: (batch: RecordedBatch, isQueued: Queued) => void;
  /** Called when the batch was not written. It will be evaluated again. */
  readonly failed: () => void;
  /** Called when the process learns that the batch is durable. */
  readonly answered: () => void;
};

/**
 * The store of a process that may die, and whose commits take time. A write that was in progress at the death
 * never arrives, unless `network` is set. A durable write stays, even if the process did not learn of it.
 */
export class SlowStore implements RecordingStore {
  readonly #store: RecordingStore;
  readonly #clock: MortalClock;
  readonly #timeOf: (commit: number) => CommitTime;
  readonly #life: BatchLife;
  readonly #commit: CommitBatch;
  /** The clock of the world outside of the process; null: writes end with the process. */
  readonly #network: Clock | null;
  #commits = 0;
  /** Number of batches in a row that were not written. */
  #failures = 0;
  /** Whether a start is loading the stored states. Its writes are no batches, and take no time. */
  isLoading = true;
  /** The batch whose write takes time; null: there is none. */
  flight: Flight | null = null;
  /** Whether the batch waits for time to pass. */
  isWaiting = false;
  #onWait: () => void = () => {};
  #waits = this.#nextWait();

  /**
   * @param timeOf returns the duration of the commit with this number
   * @param network the clock by which a sent batch travels; null: a sent batch is lost with its process
   */
  constructor(
    store: RecordingStore,
    clock: MortalClock,
    timeOf: (commit: number) => CommitTime,
    life: BatchLife,
    { commit, network }: { readonly commit: CommitBatch; readonly network: Clock | null },
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#timeOf = timeOf;
    this.#life = life;
    this.#commit = commit;
    this.#network = network;
  }

  /** Resolves when a batch begins to wait for time to pass, or could not be written. */
  get waits(): Promise<void> {
    return this.#waits;
  }

  recordedOutcomes(keys: Parameters<RecordingStore['recordedOutcomes']>[0]) {
    return this.#store.recordedOutcomes(keys);
  }

  states(...of: Parameters<RecordingStore['states']>) {
    return this.#store.states(...of);
  }

  positions() {
    return this.#store.positions();
  }

  async record(batch: RecordedBatch): Promise<Queued> {
    if (this.isLoading) return this.#commit({ ...UNDELAYED, write: () => this.#store.record(batch) });
    this.#life.evaluated();
    const { writeMs, answerMs, fails } = this.#timeOf(this.#commits++);
    const wait = (ms: number) => this.#wait(ms, this.#network ?? this.#clock);
    this.flight = null;
    try {
      const isQueued = await this.#commit({
        wait,
        waitFor: (clock) => this.#wait(0, clock),
        before: async () => {
          if (writeMs > 0) {
            const begunAt = this.#clock.monotonic();
            const durableAt = begunAt + writeMs;
            this.flight = { begunAt, durableAt, answeredAt: durableAt + answerMs };
            await wait(writeMs);
          }
          if (this.#network === null && !this.#clock.isAlive) await new Promise(() => {});
          if (fails) throw new StoreError('store-busy', 'the database accepts no writes');
        },
        write: async () => {
          const written = await this.#store.record(batch);
          this.#life.durable(batch, written);
          return written;
        },
        after: async () => {
          if (answerMs > 0) await this.#wait(answerMs, this.#clock);
        },
      });
      this.#failures = 0;
      this.flight = null;
      this.#life.answered();
      return isQueued;
    } catch (error) {
      this.#fail();
      throw error;
    }
  }

  /** Handles a failed write: the queue waits before the next try, and nothing else is written meanwhile. */
  #fail(): void {
    this.#life.failed();
    const waitMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS);
    this.#failures += 1;
    const begunAt = this.#clock.monotonic();
    this.flight = { begunAt, durableAt: begunAt + waitMs, answeredAt: begunAt + waitMs };
    this.#onWait();
    this.#waits = this.#nextWait();
  }

  async #wait(ms: number, clock: Clock): Promise<void> {
    this.isWaiting = true;
    this.#onWait();
    this.#waits = this.#nextWait();
    await new Promise<void>((resolve) =>
      clock.after(ms, () => {
        this.isWaiting = false;
        resolve();
      }),
    );
  }

  #nextWait(): Promise<void> {
    return new Promise((resolve) => {
      this.#onWait = resolve;
    });
  }
}
