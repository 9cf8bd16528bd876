import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { pause } from '@svc/shared/pause.ts';
import {
  headOf,
  type LaneId,
  type PendingLane,
  pendingLanes,
  type QueuedDelivery,
  recordAttempts,
} from '../store/delivery-ledger.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store } from '../store/store.ts';
import { attemptRecord, type FinishedAttempt } from './attempts.ts';

/**
 * Called right after the commit with the lane's next delivery when this one is over; null when there is none.
 */
export type Settled = (following: QueuedDelivery | null) => void;

const LANES_PER_PAGE = 1_000;
/** Most attempts in one transaction. The recording of results waits for it: some 5 ms. */
const ATTEMPTS_PER_TRANSACTION = 100;
const WRITE_AGAIN_MS = 1_000;
/** Time that {@link Ledger.close} waits for the disk, ms. */
const CLOSE_WITHIN_MS = 5_000;

/**
 * The stored side of delivering. Attempts that end during a write are written together in the next
 * transaction. A failed write is tried again until it succeeds, because an unrecorded delivery would be sent
 * twice and delays those behind it.
 */
export class Ledger {
  readonly #store: Store;
  readonly #secrets: Secrets;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #closing = new AbortController();
  readonly #waiting: { attempt: FinishedAttempt; settled: Settled }[] = [];
  #writing: Promise<void> | null = null;
  #perTransaction = ATTEMPTS_PER_TRANSACTION;

  constructor(options: { store: Store; secrets: Secrets; clock: Clock; log: Logger }) {
    this.#store = options.store;
    this.#secrets = options.secrets;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Every lane with pending deliveries, page by page. */
  async *pendingLanes(): AsyncGenerator<(LaneId & { queuedAt: number; nextAttemptAt: number | null })[]> {
    for (let after: LaneId | null = null; ; ) {
      const page: PendingLane[] = await pendingLanes(this.#store, after, LANES_PER_PAGE);
      const last = page.at(-1);
      if (last === undefined) return;
      yield page.map((lane) => ({ ...lane, nextAttemptAt: this.#notLater(lane) }));
      after = last;
    }
  }

  /** A wait is not longer than planned, even when the system's clock was set back since it began. */
  #notLater({ nextAttemptAt, lastAttemptAt }: PendingLane): number | null {
    if (nextAttemptAt === null || lastAttemptAt === null) return nextAttemptAt;
    return Math.min(nextAttemptAt, this.#clock.wall() + nextAttemptAt - lastAttemptAt);
  }

  /** The lane's oldest pending delivery. */
  head(lane: LaneId): Promise<QueuedDelivery | null> {
    return headOf(this.#store, this.#secrets, lane);
  }

  /**
   * Records an attempt. `settled` is called once, after the commit; never when the ledger is closed before.
   */
  record(attempt: FinishedAttempt, settled: Settled): void {
    this.#waiting.push({ attempt, settled });
    this.#writing ??= this.#write();
  }

  /**
   * Writes the waiting attempts once, and waits for that within bounds, because the disk may stall. Unwritten
   * deliveries are sent again after the next start.
   */
  async close(): Promise<void> {
    this.#closing.abort();
    if (this.#writing === null) return;
    const bound = Promise.withResolvers<void>();
    const cancel = this.#clock.after(CLOSE_WITHIN_MS, () => {
      this.#log.error('the database did not answer in time: unrecorded deliveries will be sent again');
      bound.resolve();
    });
    await Promise.race([this.#writing, bound.promise]);
    cancel();
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#perTransaction);
      try {
        await this.#store.transaction(async (tx) => {
          const attempts = batch.map(({ attempt }) => attemptRecord(attempt));
          const following = await recordAttempts(tx, this.#secrets, attempts, this.#clock.wall());
          batch.forEach(({ settled }, index) => {
            tx.onCommit(() => settled(following[index] ?? null));
          });
        });
        this.#perTransaction = Math.min(2 * this.#perTransaction, ATTEMPTS_PER_TRANSACTION);
      } catch (error) {
        this.#log.error(
          { error, attempts: batch.length },
          'recording delivery attempts failed: svc tries again',
        );
        if (this.#closing.signal.aborted) break;
        // One at a time and at the end: an attempt that cannot be written must not delay the others.
        this.#perTransaction = 1;
        this.#waiting.push(...batch);
        await pause(this.#clock, WRITE_AGAIN_MS, this.#closing.signal);
      }
    }
    // This is in the same turn as the last look at the queue, so a later attempt starts another write.
    this.#writing = null;
  }
}
