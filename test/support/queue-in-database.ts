import { randomUUID } from 'node:crypto';
import { insertDeliveries } from '@svc/coordinator/store/alerts/delivery-queue.ts';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { TestDatabase } from './database.ts';

/**
 * Queues alerts to a channel of a coordinator that does
 * not run, in the form that the outbox has after a commit.
 */
export async function queueInDatabase(
  database: TestDatabase,
  notificationId: number,
  alerts: readonly Alert[],
  createdAt = Date.now(),
): Promise<void> {
  const store = await database.open();
  await store.commit([
    insertDeliveries(
      alerts.map((alert) => ({
        uid: randomUUID(),
        notificationId,
        monitorId: alert.monitor.id,
        alert: JSON.stringify(alert),
        incident: alert.incident,
        status: alert.status,
        createdAt,
      })),
    ),
  ]);
  await store.close();
}
