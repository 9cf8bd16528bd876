import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Clock } from '@svc/shared/clock.ts';
import type { QueuedDelivery } from '../store/delivery-ledger.ts';
import type { Transaction } from '../store/store.ts';
import { wholeMs } from '../store/whole-ms.ts';
import type { Outbox } from './enqueue.ts';

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
      const queuedAt = wholeMs(clock.wall());
      const text = JSON.stringify(alert);
      const { lastInsertRowid } = insert(tx.sqlite).run(uid, notificationId, monitorId, text, queuedAt);
      const id = Number(lastInsertRowid);
      tx.onCommit(() =>
        onQueued({ id, uid, notificationId, monitorId, alert, attempts: 0, tries: 0, queuedAt }),
      );
    },
  };
}
