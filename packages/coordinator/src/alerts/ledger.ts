import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { pause } from '@svc/shared/waiting.ts';
import {
  type DeliveryStep,
  insertFinished,
  recordSteps,
  type StoppedChannel,
} from '../store/alerts/delivery-ledger.ts';
import {
  type DueChannel,
  deliveriesAfter,
  dueChannels,
  groupableDeliveries,
  hastenChannel,
  joinGroup,
  lastDeliveryId,
  type NewlyQueued,
  type NextSearch,
  nextDeliveries,
  type QueuedDelivery,
  rowOf,
  shortenWaits,
  type WaitingChannel,
  waitingChannels,
} from '../store/alerts/delivery-queue.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Store, Transaction } from '../store/store.ts';
import { attemptEntry, type EndedAttempt, finalState, testedState } from './next-step.ts';
import { type NoticeParts, queueNotice } from './notices.ts';

/**
 * Maximum number of steps in one transaction. Such a
 * transaction delays the recording of results by about 5 ms.
 */
const STEPS_PER_TRANSACTION = 100;
const WRITE_AGAIN_MS = 1_000;
/** Maximum time that {@link Ledger.close} waits for the database, ms. */
const CLOSE_WITHIN_MS = 5_000;

type TestDelivery = Parameters<typeof rowOf>[1];

export type LedgerParts = {
  readonly store: Store;
  readonly secrets: Secrets;
  readonly ids: NoticeParts['ids'];
  readonly clock: Clock;
  readonly log: Logger;
  /** Public URL of svc, for messages of svc about itself. */
  readonly publicUrl: string;
  /** Called after the commit for each queued message about a stopped channel. */
  readonly onQueued: (queued: NewlyQueued) => void;
};

/**
 * Reads the outbox, and records the steps of deliveries. Steps that are added during a write are written
 * together in the next transaction, at most 100. A failed write is repeated until it succeeds or the
 * ledger is closed: an unrecorded delivery would be sent again after a restart, and delays the
 * deliveries behind it.
 */
export class Ledger {
  readonly #parts: LedgerParts;
  readonly #closing = new AbortController();
  readonly #waiting: { step: DeliveryStep; settled: () => void }[] = [];
  #writing: Promise<void> | null = null;
  #perTransaction = STEPS_PER_TRANSACTION;

  constructor(parts: LedgerParts) {
    this.#parts = parts;
  }

  /** The highest id of a delivery; 0: there is none. */
  lastId(): Promise<number> {
    return lastDeliveryId(this.#parts.store);
  }

  deliveriesAfter(deliveryId: number): ReturnType<typeof deliveriesAfter> {
    return deliveriesAfter(this.#parts.store, deliveryId);
  }

  /**
   * Call this at the start. It shortens the waits that are too long because
   * the clock was set back, and returns the channels with pending deliveries.
   *
   * @param now epoch ms
   */
  async dueAtStart(now: number): Promise<readonly DueChannel[]> {
    const { store } = this.#parts;
    await shortenWaits(store, now);
    return dueChannels(store);
  }

  waitingChannels(): Promise<readonly WaitingChannel[]> {
    return waitingChannels(this.#parts.store);
  }

  async nextDeliveries(search: NextSearch): Promise<QueuedDelivery[]> {
    return nextDeliveries({ work: this.#parts.store.work }, this.#parts.secrets, search);
  }

  async groupableDeliveries(search: Parameters<typeof groupableDeliveries>[2]): Promise<QueuedDelivery[]> {
    return groupableDeliveries({ work: this.#parts.store.work }, this.#parts.secrets, search);
  }

  hastenChannel(notificationId: number): Promise<void> {
    return this.#parts.store.transaction((tx) => hastenChannel(tx, notificationId));
  }

  /**
   * Records that these deliveries are sent in one message. If the process is killed between the
   * send and its record, the next process sends a message for the same deliveries again. The
   * message has the same id, unless one of the deliveries is left out by then.
   *
   * @throws StoreError
   */
  joinGroup(deliveryIds: readonly number[], groupUid: string): Promise<void> {
    return this.#parts.store.transaction((tx) => joinGroup(tx, deliveryIds, groupUid));
  }

  /**
   * Records a step. `settled` is called after the commit. It is never called if the ledger is closed and its
   * last try to write the step fails.
   */
  recordStep(step: DeliveryStep, settled: () => void): void {
    this.#waiting.push({ step, settled });
    this.#writing ??= this.#write();
  }

  /**
   * Records a delivery that bypassed the queue, with its one attempt. Returns the delivery's id.
   *
   * @param isFormer whether the channel's settings were changed during the attempt
   * @throws StoreError
   */
  recordTest(delivery: TestDelivery, attempt: EndedAttempt, isFormer: boolean): Promise<number> {
    const { store, secrets, clock } = this.#parts;
    const finished = {
      attempt: attemptEntry(attempt),
      state: finalState(attempt.result),
      channel: isFormer ? null : testedState(attempt.result),
    };
    return store.transaction(async (tx) => {
      const row = rowOf(secrets, delivery);
      const { deliveryId, stopped } = await insertFinished(tx, row, finished, clock.wall());
      await this.#queueStopNotices(tx, stopped);
      return deliveryId;
    });
  }

  /**
   * Waits while the waiting steps are tried once more, for 5 s at most, because the database may not
   * answer. A delivery whose step is not written is sent again after the next start.
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
    const { store, clock, log } = this.#parts;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#perTransaction);
      const steps = batch.map(({ step }) => step);
      try {
        await store.transaction(async (tx) => {
          const stopped = await recordSteps(tx, steps, clock.wall());
          for (const { settled } of batch) tx.onCommit(settled);
          await this.#queueStopNotices(tx, stopped);
        });
        this.#perTransaction = Math.min(2 * this.#perTransaction, STEPS_PER_TRANSACTION);
      } catch (error) {
        log.error({ error, steps: batch.length }, 'recording deliveries failed: svc tries again');
        this.#perTransaction = 1;
        // After the ledger was closed, a step that fails in a transaction of its own is not tried again.
        if (this.#closing.signal.aborted && batch.length === 1) continue;
        // The steps go to the end of the queue, and the next transaction has only
        // one step: a bad step must not delay the others.
        this.#waiting.push(...batch);
        await pause(clock, WRITE_AGAIN_MS, this.#closing.signal);
      }
    }
    // There is no `await` between the last check of the queue and
    // this line, so a step that is added later starts another write.
    this.#writing = null;
  }

  /** Queues a message about each channel that this transaction stops, for other channels of its workspace. */
  async #queueStopNotices(tx: Transaction, stopped: readonly StoppedChannel[]): Promise<void> {
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
            'Its alerts are given up. Change its settings, or send a test that is delivered, to start it again. Then what was given up can be sent again.',
          ],
        }),
      });
    }
  }
}
