import { type Alert, alert as alertSchema } from '@svc/shared/channels/alert.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import { sql } from 'kysely';
import type { Store, Transaction } from '../store/store.ts';
import type { SendResult } from './channel.ts';
import type { QueuedDelivery } from './outbox.ts';

/** The deliveries of one monitor to one channel: sent one after the other, in order of their ids. */
export type LaneId = { notificationId: number; monitorId: number };

/** Where a lane stands after a restart. */
export type PendingLane = LaneId & { nextAttemptAt: number | null };

export type FinishedAttempt = {
  delivery: QueuedDelivery;
  /** Start, epoch ms. */
  at: number;
  /** ms */
  durationMs: number;
  result: SendResult;
  /** Epoch ms; null when the delivery is over: delivered, or given up. */
  nextAttemptAt: number | null;
};

/** Called right after the commit: the lane's next delivery when this one is over, null when there is none. */
export type Settled = (following: QueuedDelivery | null) => void;

const LANES_PER_PAGE = 1_000;
const ATTEMPTS_PER_TRANSACTION = 200;
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
        .select(['d.notification_id', 'd.monitor_id', 'd.next_attempt_at'])
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
        nextAttemptAt: row.next_attempt_at,
      }));
      const last = page.at(-1);
      if (last === undefined) return;
      yield page;
      after = last;
    }
  }

  /** The lane's oldest pending delivery. */
  async head(lane: LaneId): Promise<QueuedDelivery | null> {
    const { rows } = await selectHead(lane).execute(this.#store.read);
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
        await this.#store.transaction(async (tx) => {
          for (const { attempt, settled } of batch) {
            const following = await writeAttempt(tx, attempt, this.#clock.wall());
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

/** @returns the lane's next delivery when this one is over. */
async function writeAttempt(
  tx: Transaction,
  { delivery, at, durationMs, result, nextAttemptAt }: FinishedAttempt,
  now: number,
): Promise<QueuedDelivery | null> {
  const isOver = nextAttemptAt === null;
  const error = result.outcome === 'delivered' ? null : result.error;
  const updated = await tx.db
    .updateTable('deliveries')
    .set({
      state: isOver ? (result.outcome === 'delivered' ? 'delivered' : 'dead') : 'pending',
      attempts: delivery.attempts + 1,
      next_attempt_at: nextAttemptAt,
      last_error: error,
      finished_at: isOver ? now : null,
    })
    .where('id', '=', delivery.id)
    .executeTakeFirst();
  // Gone with its channel while it was being sent.
  if (updated.numUpdatedRows === 0n) return null;
  await tx.db
    .insertInto('delivery_attempts')
    .values({
      delivery_id: delivery.id,
      number: delivery.attempts + 1,
      at,
      duration: Math.round(durationMs * 10) / 10,
      outcome: result.outcome,
      status_code: result.statusCode ?? null,
      error,
    })
    .execute();
  await writeChannelState(tx, delivery.notificationId, result);
  if (!isOver) return null;
  const { rows } = await selectHead(delivery).execute(tx.db);
  return rows[0] === undefined ? null : queuedDelivery(rows[0]);
}

/**
 * A channel's state is what its last attempt says, and is not part of its declaration (no new row
 * version). A message that is refused for its own sake says nothing about the channel.
 */
export async function writeChannelState(
  tx: Transaction,
  notificationId: number,
  result: SendResult,
): Promise<void> {
  if (result.outcome === 'permanent-message') return;
  const state = result.outcome === 'delivered' ? 'ok' : 'failing';
  const reason = result.outcome === 'delivered' ? null : result.error;
  await tx.db
    .updateTable('notifications')
    .set({ state, state_reason: reason })
    .where('id', '=', notificationId)
    .where((where) =>
      where.or([where('state', '!=', state), where('state_reason', 'is distinct from', reason)]),
    )
    .execute();
}

type HeadRow = {
  id: number;
  uid: string;
  notification_id: number;
  monitor_id: number;
  alert: string;
  attempts: number;
  tries: number;
  queued_at: number;
};

function selectHead({ notificationId, monitorId }: LaneId) {
  return sql<HeadRow>`SELECT d.id, d.uid, d.notification_id, d.monitor_id, d.alert, d.attempts,
      coalesce(d.replayed_at, d.created_at) AS queued_at,
      CASE WHEN d.replayed_at IS NULL THEN d.attempts ELSE (SELECT count(*) FROM delivery_attempts a
        WHERE a.delivery_id = d.id AND a.at >= d.replayed_at) END AS tries
    FROM deliveries d
    WHERE d.state = 'pending' AND d.notification_id = ${notificationId} AND d.monitor_id = ${monitorId}
    ORDER BY d.id LIMIT 1`;
}

function queuedDelivery(row: HeadRow): QueuedDelivery {
  return {
    id: row.id,
    uid: row.uid,
    notificationId: row.notification_id,
    monitorId: row.monitor_id,
    alert: storedAlert(row.alert),
    attempts: row.attempts,
    tries: row.tries,
    queuedAt: row.queued_at,
  };
}

/**
 * Alerts were written by this service, but perhaps by another version: parsed like everything stored.
 * Null rather than an error, which would hold up everything recorded in the same transaction.
 */
export function storedAlert(text: string): Alert | null {
  return alertSchema.safeParse(JSON.parse(text)).data ?? null;
}
