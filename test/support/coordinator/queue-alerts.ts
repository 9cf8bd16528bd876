import { randomUUID } from 'node:crypto';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { Deliverer } from '../../../packages/coordinator/src/alerts/deliverer.ts';
import {
  hastenOlder,
  insertDeliveries,
} from '../../../packages/coordinator/src/store/alerts/delivery-queue.ts';
import type { Store } from '../../../packages/coordinator/src/store/store.ts';

type QueuedAlert = {
  readonly notificationId: number;
  readonly monitorId: number;
  readonly alert: Alert;
};

/** Queues alerts in one transaction and wakes the deliverer after it, as the recorder does. */
export async function queueAlerts(
  store: Store,
  clock: Clock,
  deliverer: Pick<Deliverer, 'deliverQueued'>,
  alerts: readonly QueuedAlert[],
): Promise<void> {
  const queuedAt = clock.wall();
  const queued = alerts.map((alert) => ({ ...alert, uid: randomUUID(), queuedAt }));
  const rows = queued.map(({ uid, notificationId, monitorId, alert }) => ({
    uid,
    notificationId,
    monitorId,
    alert: JSON.stringify(alert),
    incident: alert.incident,
    status: alert.status,
    createdAt: queuedAt,
  }));
  await store.commit([insertDeliveries(rows), hastenOlder(rows)]);
  for (const delivery of queued) deliverer.deliverQueued(delivery);
}
