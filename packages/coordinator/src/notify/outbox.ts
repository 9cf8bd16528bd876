import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { Transaction } from '../store/store.ts';
import type { Outbox } from './enqueue.ts';

/** A pending delivery with what is needed to send it. */
export type QueuedDelivery = {
  id: number;
  /** The `webhook-id`. */
  uid: string;
  notificationId: number;
  monitorId: number;
  /** Null: what is stored cannot be read by this version. */
  alert: Alert | null;
  /** Attempts made before, all together; the next one's number is one more. */
  attempts: number;
  /** Of these, since it was queued or replayed: place in the back-off. */
  tries: number;
  /** When it was queued or replayed, epoch ms. */
  queuedAt: number;
};

const INSERT = `INSERT INTO deliveries (uid, notification_id, monitor_id, alert, state, created_at)
  VALUES (?, ?, ?, ?, 'pending', ?)`;

/**
 * Queues deliveries inside the transaction that causes them.
 *
 * @param onQueued called after the commit, once per delivery, in their order
 */
export function createOutbox(clock: Clock, onQueued: (delivery: QueuedDelivery) => void): Outbox {
  // Prepared once per connection: the recorder queues alerts between thousands of results.
  const prepared = new WeakMap<DatabaseSync, StatementSync>();

  function insert(sqlite: DatabaseSync): StatementSync {
    let statement = prepared.get(sqlite);
    if (statement === undefined) {
      statement = sqlite.prepare(INSERT);
      prepared.set(sqlite, statement);
    }
    return statement;
  }

  return {
    enqueue(tx: Transaction, { notificationId, monitorId, alert }) {
      const uid = randomUUID();
      const queuedAt = clock.wall();
      const text = JSON.stringify(alert);
      const { lastInsertRowid } = insert(tx.sqlite).run(uid, notificationId, monitorId, text, queuedAt);
      const id = Number(lastInsertRowid);
      tx.onCommit(() =>
        onQueued({ id, uid, notificationId, monitorId, alert, attempts: 0, tries: 0, queuedAt }),
      );
    },
  };
}
