import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type Alert, alert as alertSchema } from '@svc/shared/channels/alert.ts';
import type { SendResult } from './channel.ts';
import type { QueuedDelivery } from './outbox.ts';

/** The deliveries of one monitor to one channel: sent one after the other, in order of their ids. */
export type LaneId = { notificationId: number; monitorId: number };

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

/** A lane's oldest pending delivery; `tries` counts since it was queued or replayed. */
export const SELECT_HEAD = `SELECT d.id, d.uid, d.notification_id, d.monitor_id, d.alert, d.attempts,
    coalesce(d.replayed_at, d.created_at) AS queued_at,
    CASE WHEN d.replayed_at IS NULL THEN d.attempts ELSE (SELECT count(*) FROM delivery_attempts a
      WHERE a.delivery_id = d.id AND a.at >= d.replayed_at) END AS tries
  FROM deliveries d WHERE d.state = 'pending' AND d.notification_id = ? AND d.monitor_id = ?
  ORDER BY d.id LIMIT 1`;

export type HeadRow = {
  id: number;
  uid: string;
  notification_id: number;
  monitor_id: number;
  alert: string;
  attempts: number;
  tries: number;
  queued_at: number;
};

/**
 * What is written of an attempt, by prepared statements: in a mass outage thousands are recorded in a
 * few seconds, in transactions that the recorder of results has to wait for.
 */
export class LedgerStatements {
  readonly #updateDelivery: StatementSync;
  readonly #insertAttempt: StatementSync;
  readonly #updateChannel: StatementSync;
  readonly #selectHead: StatementSync;

  constructor(sqlite: DatabaseSync) {
    this.#updateDelivery = sqlite.prepare(
      `UPDATE deliveries SET state = ?, attempts = ?, next_attempt_at = ?, last_error = ?, finished_at = ?
       WHERE id = ?`,
    );
    this.#insertAttempt = sqlite.prepare(
      `INSERT INTO delivery_attempts (delivery_id, number, at, duration, outcome, status_code, error)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#updateChannel = sqlite.prepare(
      `UPDATE notifications SET state = :state, state_reason = :reason
       WHERE id = :id AND (state <> :state OR state_reason IS NOT :reason)`,
    );
    this.#selectHead = sqlite.prepare(SELECT_HEAD);
  }

  /**
   * @param now epoch ms
   * @returns the lane's next delivery when this one is over
   */
  writeAttempt(attempt: FinishedAttempt, now: number): QueuedDelivery | null {
    const { delivery, result, nextAttemptAt } = attempt;
    const isOver = nextAttemptAt === null;
    const over = result.outcome === 'delivered' ? 'delivered' : 'dead';
    const number = delivery.attempts + 1;
    const { changes } = this.#updateDelivery.run(
      isOver ? over : 'pending',
      number,
      nextAttemptAt,
      errorOf(result),
      isOver ? now : null,
      delivery.id,
    );
    // Gone with its channel while it was being sent.
    if (changes === 0) return null;
    this.insertAttempt(delivery.id, number, attempt);
    this.writeChannelState(delivery.notificationId, result);
    return isOver ? this.#head(delivery) : null;
  }

  insertAttempt(
    deliveryId: number,
    number: number,
    { at, durationMs, result }: Pick<FinishedAttempt, 'at' | 'durationMs' | 'result'>,
  ): void {
    const duration = Math.round(durationMs * 10) / 10;
    const statusCode = result.statusCode ?? null;
    this.#insertAttempt.run(deliveryId, number, at, duration, result.outcome, statusCode, errorOf(result));
  }

  /**
   * A channel's state is what its last attempt says, and is not part of its declaration (no new row
   * version). A message that is refused for its own sake says nothing about the channel.
   */
  writeChannelState(notificationId: number, result: SendResult): void {
    if (result.outcome === 'permanent-message') return;
    const state = result.outcome === 'delivered' ? 'ok' : 'failing';
    this.#updateChannel.run({ ':state': state, ':reason': errorOf(result), ':id': notificationId });
  }

  #head({ notificationId, monitorId }: LaneId): QueuedDelivery | null {
    const row = this.#selectHead.get(notificationId, monitorId) as HeadRow | undefined;
    return row === undefined ? null : queuedDelivery(row);
  }
}

export function queuedDelivery(row: HeadRow): QueuedDelivery {
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

export function errorOf(result: SendResult): string | null {
  return result.outcome === 'delivered' ? null : result.error;
}
