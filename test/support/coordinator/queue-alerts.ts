import { randomUUID } from 'node:crypto';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { Deliverer } from '../../../packages/coordinator/src/notify/deliverer.ts';
import { insertDeliveries } from '../../../packages/coordinator/src/store/delivery-ledger.ts';
import type { Store } from '../../../packages/coordinator/src/store/store.ts';

type QueuedAlert = { readonly notificationId: number; readonly monitorId: number; readonly alert: Alert };

/** Queues alerts in one transaction and wakes the deliverer after it, as the recorder does. */
export async function queueAlerts(
  store: Store,
  clock: Clock,
  deliverer: Pick<Deliverer, 'wake'>,
  alerts: readonly QueuedAlert[],
): Promise<void> {
  const queuedAt = clock.wall();
  const queued = alerts.map((alert) => ({ ...alert, uid: randomUUID() }));
  const rows = queued.map(({ alert, ...row }) => ({
    ...row,
    alert: JSON.stringify(alert),
    createdAt: queuedAt,
  }));
  const [outcomes = []] = await store.commit([insertDeliveries(rows)]);
  queued.forEach((delivery, index) => {
    const id = outcomes[index]?.lastInsertRowid ?? 0;
    deliverer.wake({ ...delivery, id, attempts: 0, tries: 0, queuedAt });
  });
}
