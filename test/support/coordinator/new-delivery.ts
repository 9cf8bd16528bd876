import type { QueuedDelivery } from '@svc/coordinator/store/alerts/delivery-queue.ts';
import { FULL_ALERT } from '../channel-sending.ts';

/** A delivery that was just queued, and was not tried yet. */
export function newDelivery(changes: Partial<QueuedDelivery> = {}): QueuedDelivery {
  return {
    notificationId: 3,
    monitorId: 12,
    id: 7,
    uid: 'c0ffee00-0000-4000-8000-000000000007',
    alert: FULL_ALERT,
    attempts: 0,
    tries: 0,
    createdAt: 1_767_225_600_000,
    replayedAt: null,
    newestId: 7,
    hasNewer: false,
    hasNewerOfIncident: false,
    isAnnounced: false,
    isOpen: false,
    thread: null,
    groupUid: null,
    dueAt: 0,
    ...changes,
  };
}
