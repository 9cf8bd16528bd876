import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { pause } from '@svc/shared/pause.ts';
import { type DeliveryStep, insertFinished, type Recorded, recordSteps } from '../store/delivery-ledger.ts';
import {
  headsOf,
  joinGroup,
  type LaneId,
  lastDeliveryId,
  type PendingLane,
  pendingLanes,
  type QueuedDelivery,
  rowOf,
} from '../store/delivery-queue.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Store, Transaction } from '../store/store.ts';
import { attemptEntry, type FinishedAttempt, finalState, testedState } from './attempts.ts';
import type { NewlyQueued } from './lane.ts';
import { queueNotice } from './notices.ts';

/**
 * Called right after the commit with the lane's next delivery when this one is over; null when there is none.
 */
export type Settled = (following: QueuedDelivery | null) => void;

const LANES_PER_PAGE = 1_000;
const HEADS_PER_READ = 100;
/** Most steps in one transaction. The recording of results waits for it: some 5 ms. */
const STEPS_PER_TRANSACTION = 100;
const WRITE_AGAIN_MS = 1_000;
/** Time that {@link Ledger.close} waits for the disk, ms. */
const CLOSE_WITHIN_MS = 5_000;

type TestDelivery = Parameters<typeof rowOf>[1];

export type LedgerParts = {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly log: Logger;
  /** Address that messages of svc about itself show. */
  readonly publicUrl: string;
  /** Called after the commit, when a message about a channel is queued for another one. */
  readonly onQueued: (queued: NewlyQueued) => void;
};

/**
 * The stored side of delivering. Steps that end during a write are written together in the next
 * transaction. A failed write is tried again until it succeeds, because an unrecorded delivery would be sent
 * twice and delays those behind it.
 */
export class Ledger {
  readonly #parts: LedgerParts;
  readonly #closing = new AbortController();
  readonly #waiting: { step: DeliveryStep; settled: Settled }[] = [];
  #writing: Promise<void> | null = null;
  #perTransaction = STEPS_PER_TRANSACTION;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
  }

  /** The highest id of a delivery; 0: there is none. */
  lastId(): Promise<number> {
    return lastDeliveryId(this.#parts.store);
  }

  /** Every lane with pending deliveries, page by page. */
  async *pendingLanes(): AsyncGenerator<PendingLane[]> {
    for (let after: LaneId | null = null; ; ) {
      const page: PendingLane[] = await pendingLanes(this.#parts.store, after, LANES_PER_PAGE);
      const last = page.at(-1);
      if (last === undefined) return;
      yield page.map((lane) => ({ ...lane, nextAttemptAt: this.#notLater(lane) }));
      after = last;
    }
  }

  /** A wait is not longer than planned, even when the system's clock was set back since it began. */
  #notLater({ nextAttemptAt, lastAttemptAt }: PendingLane): number | null {
    if (nextAttemptAt === null || lastAttemptAt === null) return nextAttemptAt;
    return Math.min(nextAttemptAt, this.#parts.clock.wall() + nextAttemptAt - lastAttemptAt);
  }

  /** The lane's oldest pending delivery; null: there is none. */
  async head(lane: LaneId): Promise<QueuedDelivery | null> {
    return (await this.heads([lane]))[0] ?? null;
  }

  /** The oldest pending deliveries of lanes of one channel, in their order; null: there is none. */
  async heads(lanes: readonly LaneId[]): Promise<(QueuedDelivery | null)[]> {
    const { store, secrets } = this.#parts;
    const heads = new Map<number, QueuedDelivery>();
    for (let start = 0; start < lanes.length; start += HEADS_PER_READ) {
      const some = lanes.slice(start, start + HEADS_PER_READ);
      for (const head of await headsOf({ read: store.work }, secrets, some)) heads.set(head.monitorId, head);
    }
    return lanes.map(({ monitorId }) => heads.get(monitorId) ?? null);
  }

  /**
   * Notes that these deliveries go in one message. A process that is killed between the send and the record
   * sends the same message again, with the same id.
   *
   * @throws StoreError
   */
  joinGroup(deliveryIds: readonly number[], groupUid: string): Promise<void> {
    return this.#parts.store.transaction((tx) => joinGroup(tx, deliveryIds, groupUid));
  }

  /**
   * Records a step. `settled` is called once, after the commit; never when the ledger is closed before.
   */
  record(step: DeliveryStep, settled: Settled): void {
    this.#waiting.push({ step, settled });
    this.#writing ??= this.#write();
  }

  /**
   * Records a delivery that bypassed the queue, with its one attempt. Answers its id.
   *
   * @throws StoreError
   */
  recordTest(
    delivery: TestDelivery,
    attempt: Pick<FinishedAttempt, 'at' | 'durationMs' | 'result'>,
  ): Promise<number> {
    const { store, secrets, clock } = this.#parts;
    const finished = {
      attempt: attemptEntry(attempt),
      state: finalState(attempt.result),
      channel: testedState(attempt.result),
    };
    return store.transaction(async (tx) => {
      const row = rowOf(secrets, delivery);
      const { deliveryId, stopped } = await insertFinished(tx, row, finished, clock.wall());
      await this.#tellOfStops(tx, stopped);
      return deliveryId;
    });
  }

  /**
   * Tries the waiting steps once more, and waits for that within bounds, because the disk may stall. Unwritten
   * deliveries are sent again after the next start.
   */
  async close(): Promise<void> {
    const { clock, log } = this.#parts;
    this.#closing.abort();
    if (this.#writing === null) return;
    const bound = Promise.withResolvers<void>();
    const cancel = clock.after(CLOSE_WITHIN_MS, () => {
      log.error('the database did not answer in time: unrecorded deliveries will be sent again');
      bound.resolve();
    });
    await Promise.race([this.#writing, bound.promise]);
    cancel();
  }

  async #write(): Promise<void> {
    const { store, secrets, clock, log } = this.#parts;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#perTransaction);
      const steps = batch.map(({ step }) => step);
      try {
        await store.transaction(async (tx) => {
          const { following, stopped } = await recordSteps(tx, secrets, steps, clock.wall());
          batch.forEach(({ settled }, index) => {
            tx.onCommit(() => settled(following[index] ?? null));
          });
          await this.#tellOfStops(tx, stopped);
        });
        this.#perTransaction = Math.min(2 * this.#perTransaction, STEPS_PER_TRANSACTION);
      } catch (error) {
        log.error({ error, steps: batch.length }, 'recording deliveries failed: svc tries again');
        this.#perTransaction = 1;
        // Of a closed ledger each step is tried once more by itself: one that cannot be written takes no other along.
        if (this.#closing.signal.aborted && batch.length === 1) continue;
        // One at a time and at the end: a step that cannot be written must not delay the others.
        this.#waiting.push(...batch);
        await pause(clock, WRITE_AGAIN_MS, this.#closing.signal);
      }
    }
    // This is in the same turn as the last look at the queue, so a later step starts another write.
    this.#writing = null;
  }

  /** Tells people by their other channels of those that this transaction stops. */
  async #tellOfStops(tx: Transaction, stopped: Recorded['stopped']): Promise<void> {
    const { clock, log } = this.#parts;
    const at = clock.wall();
    for (const { notificationId, reason } of stopped) {
      log.warn({ notificationId, reason }, 'stopped a channel: its address is dead');
      await queueNotice(tx, this.#parts, {
        notificationId,
        event: `stopped ${notificationId} ${Math.floor(at)}`,
        at,
        text: ({ name }) => ({
          title: `The notification channel ${name} is stopped`,
          lines: [
            `Its address is dead: ${reason ?? 'no reason was given'}.`,
            'Its alerts wait. Change its settings, or send a test that is delivered, to start it again.',
          ],
        }),
      });
    }
  }
}
