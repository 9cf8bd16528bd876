import { randomUUID } from 'node:crypto';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { insertFinished, replayDelivery } from '../store/delivery-ledger.ts';
import type { Store } from '../store/store.ts';
import { attemptEntry, channelState, finalState } from './attempts.ts';
import type { SendResult } from './channel.ts';
import type { Deliverer } from './deliverer.ts';

/** Operations on deliveries that people start by hand. */
export interface ManualDeliveries {
  /**
   * Queues a dead delivery again, with the same id for the receiver and a fresh schedule of 24 h, before
   * younger deliveries of its monitor and channel. Returns `not-dead` for one that is pending or delivered.
   */
  replay(deliveryId: number): Promise<'replayed' | 'not-dead' | 'not-found'>;
  /**
   * Sends a test alert: one attempt, at once, past the queue. The ledger stores it under monitor 0, and it
   * updates the channel's state. The channel must exist.
   */
  sendTest(notificationId: number): Promise<TestOutcome>;
}

export type TestOutcome = { deliveryId: number; at: number; durationMs: number; result: SendResult };

export function createManualDeliveries(options: {
  store: Store;
  clock: Clock;
  deliverer: Deliverer;
  /** Address that the test alert shows in place of a monitor's address. */
  publicUrl: string;
}): ManualDeliveries {
  const { store, clock, deliverer, publicUrl } = options;
  return {
    replay(deliveryId) {
      return store.transaction(async (tx) => {
        const lane = await replayDelivery(tx, deliveryId, clock.wall());
        if (typeof lane === 'string') return lane;
        tx.onCommit(() => deliverer.wakeReplayed(lane));
        return 'replayed';
      });
    },

    async sendTest(notificationId) {
      const uid = randomUUID();
      const at = clock.wall();
      const startedAt = clock.monotonic();
      const alert = testAlert(at, publicUrl);
      const { signal } = new AbortController();
      const result = await deliverer.attempt(notificationId, alert, {
        deliveryId: uid,
        attemptAt: at,
        signal,
        thread: null,
      });
      const durationMs = clock.monotonic() - startedAt;
      const delivery = {
        uid,
        notificationId,
        monitorId: alert.monitor.id,
        alert: JSON.stringify(alert),
        createdAt: at,
      };
      const finished = {
        attempt: attemptEntry({ at, durationMs, result }),
        state: finalState(result),
        channel: channelState(result),
      };
      const deliveryId = await store.transaction((tx) =>
        insertFinished(tx, delivery, finished, clock.wall()),
      );
      return { deliveryId, at, durationMs, result };
    },
  };
}

/**
 * Makes a test alert. Its status is `error`, so that it goes the whole way of a real alert, and every text in
 * it says that it is a test.
 */
export function testAlert(at: number, publicUrl: string): Alert {
  return {
    monitor: { id: 0, name: 'Test', url: publicUrl, type: 'http' },
    status: 'error',
    cronTimestamp: at,
    errorMessage: 'Test alert: nothing is wrong.',
    at,
    reason: 'test',
    incident: `test-${randomUUID()}`,
    regions: [],
    test: true,
  };
}
