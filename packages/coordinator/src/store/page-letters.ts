import type { QueuedRow } from './delivery-queue.ts';
import { recipientOf } from './receivers.ts';
import type { SqlStep } from './store.ts';
import { wholeMs } from './whole-ms.ts';

/**
 * Queues mails of status pages. One to a recipient that was removed meanwhile is not queued: its row's `changes` is 0,
 * as for one whose uid is queued already.
 *
 * @param rows whose receivers are recipients
 */
export function insertLetters(rows: readonly QueuedRow[]): SqlStep {
  return {
    sql: `INSERT INTO deliveries (uid, notification_id, monitor_id, alert, incident, status, state, created_at)
      SELECT ?, -id, ?, ?, ?, ?, 'pending', ? FROM page_recipients WHERE id = ? ON CONFLICT (uid) DO NOTHING`,
    rows: rows.map((row) => [
      row.uid,
      row.monitorId,
      row.alert,
      row.incident,
      row.status,
      wholeMs(row.createdAt),
      recipientOf(row.notificationId),
    ]),
  };
}
