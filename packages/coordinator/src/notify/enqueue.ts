import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Transaction } from '../store/store.ts';

/** The outbox as the evaluation sees it: a delivery is queued in the transaction of the transition that causes it. */
export interface Outbox {
  /** Writes one pending row; after the commit the deliverer takes it up at once. */
  enqueue(tx: Transaction, delivery: { notificationId: number; monitorId: number; alert: Alert }): void;
}
