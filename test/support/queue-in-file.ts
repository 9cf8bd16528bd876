import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { insertDeliveries } from '@svc/coordinator/store/alerts/delivery-queue.ts';
import type { Alert } from '@svc/shared/channels/alert.ts';

/** Queues alerts to a channel in the file of a coordinator that does not run, as the outbox has them after a commit. */
export function queueInFile(
  path: string,
  notificationId: number,
  alerts: readonly Alert[],
  createdAt = Date.now(),
): void {
  const { sql, rows } = insertDeliveries(
    alerts.map((alert) => ({
      uid: randomUUID(),
      notificationId,
      monitorId: alert.monitor.id,
      alert: JSON.stringify(alert),
      incident: alert.incident,
      status: alert.status,
      createdAt,
    })),
  );
  const database = new DatabaseSync(path);
  // SQLite gives parameters no types.
  const statement = database.prepare(sql.replaceAll(/\?::\w+/g, '?'));
  database.exec('BEGIN');
  for (const row of rows) statement.run(...row);
  database.exec('COMMIT');
  database.close();
}
