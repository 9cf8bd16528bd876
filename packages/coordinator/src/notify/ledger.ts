import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { CompiledQuery, sql } from 'kysely';
import type { Store } from '../store/store.ts';
import {
  type FinishedAttempt,
  type HeadRow,
  type LaneId,
  LedgerStatements,
  queuedDelivery,
  SELECT_HEAD,
} from './ledger-statements.ts';
import type { QueuedDelivery } from './outbox.ts';

/** Where a lane stands after a restart. */
export type PendingLane = LaneId & { nextAttemptAt: number | null };

/** Called right after the commit: the lane's next delivery when this one is over, null when there is none. */
export type Settled = (following: QueuedDelivery | null) => void;

const LANES_PER_PAGE = 1_000;
/** Some 5 ms on the thread. */
const ATTEMPTS_PER_TRANSACTION = 100;
const WRITE_AGAIN_MS = 1_000;

/**
 * The stored side of delivering. Attempts that end while a write is under way are written together in
 * the next transaction; a write that fails is tried again until it succeeds, because a delivery that is
 * not recorded would be sent twice and holds up those behind it.
 */
export class Ledger {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #waiting: { attempt: FinishedAttempt; settled: Settled }[] = [];
  #writing: Promise<void> | null = null;
  #statements: LedgerStatements | null = null;
  #perTransaction = ATTEMPTS_PER_TRANSACTION;
  #isClosed = false;
  #endPause: (() => void) | null = null;

  constructor(options: { store: Store; clock: Clock; log: Logger }) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Every lane with pending deliveries, page by page. */
  async *pendingLanes(): AsyncGenerator<PendingLane[]> {
    let after: LaneId = { notificationId: 0, monitorId: -1 };
    for (;;) {
      const rows = await this.#store.read
        .selectFrom('deliveries as d')
        .select([
          'd.notification_id',
          'd.monitor_id',
          'd.next_attempt_at',
          sql<
            number | null
          >`(SELECT a.at FROM delivery_attempts a WHERE a.delivery_id = d.id AND a.number = d.attempts)`.as(
            'last_attempt_at',
          ),
        ])
        .where('d.state', '=', 'pending')
        .where(
          sql<boolean>`(d.notification_id, d.monitor_id) > (${after.notificationId}, ${after.monitorId})`,
        )
        .where(
          sql<boolean>`d.id = (SELECT min(f.id) FROM deliveries f WHERE f.state = 'pending'
            AND f.notification_id = d.notification_id AND f.monitor_id = d.monitor_id)`,
        )
        .orderBy('d.notification_id')
        .orderBy('d.monitor_id')
        .limit(LANES_PER_PAGE)
        .execute();
      const page = rows.map((row) => ({
        notificationId: row.notification_id,
        monitorId: row.monitor_id,
        nextAttemptAt: this.#notLater(row.next_attempt_at, row.last_attempt_at),
      }));
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      after = last;
    }
  }

  /** A wait is not longer than it was meant to be, though the system's clock was set back since it began. */
  #notLater(nextAttemptAt: number | null, lastAttemptAt: number | null): number | null {
    if (nextAttemptAt === null || lastAttemptAt === null) return nextAttemptAt;
    return Math.min(nextAttemptAt, this.#clock.wall() + nextAttemptAt - lastAttemptAt);
  }

  /** The lane's oldest pending delivery. */
  async head(lane: LaneId): Promise<QueuedDelivery | null> {
    const query = CompiledQuery.raw(SELECT_HEAD, [lane.notificationId, lane.monitorId]);
    const { rows } = await this.#store.read.executeQuery<HeadRow>(query);
    return rows[0] === undefined ? null : queuedDelivery(rows[0]);
  }

  /** `settled` is called once, after the commit; never when the ledger is closed before. */
  record(attempt: FinishedAttempt, settled: Settled): void {
    this.#waiting.push({ attempt, settled });
    this.#writing ??= this.#write();
  }

  /** Writes what is waiting, once; what cannot be written is sent again after the next start. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#endPause?.();
    await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#perTransaction);
      try {
        await this.#store.transaction((tx) => {
          this.#statements ??= new LedgerStatements(tx.sqlite);
          for (const { attempt, settled } of batch) {
            const following = this.#statements.writeAttempt(attempt, this.#clock.wall());
            tx.onCommit(() => settled(following));
          }
        });
        this.#perTransaction = Math.min(2 * this.#perTransaction, ATTEMPTS_PER_TRANSACTION);
      } catch (error) {
        this.#log.error({ error, attempts: batch.length }, 'recording delivery attempts failed');
        if (this.#isClosed) break;
        // One at a time and at the end: an attempt that cannot be written must not hold up the others.
        this.#perTransaction = 1;
        this.#waiting.push(...batch);
        await this.#pause();
      }
    }
    // In the same turn as the last look at the queue: what is added later starts another write.
    this.#writing = null;
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#clock.after(WRITE_AGAIN_MS, resolve);
      this.#endPause = () => {
        cancel();
        resolve();
      };
    });
  }
}
