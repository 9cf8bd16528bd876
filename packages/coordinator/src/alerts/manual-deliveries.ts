import { randomUUID } from 'node:crypto';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { deadDeliveries, replayDeliveries, replayDelivery } from '../store/alerts/delivery-queue.ts';
import type { Store } from '../store/store.ts';
import type { Deliverer, TestedDelivery } from './deliverer.ts';
import { closesIncidents } from './registry.ts';

/** Most deliveries that one transaction queues again: some ms, for which other writes wait. */
const REPLAYED_AT_ONCE = 200;

/** Operations on deliveries that people start by hand. */
export interface ManualDeliveries {
  /**
   * Queues a dead delivery again, with the same id for the receiver and a fresh schedule of 24 h, before
   * younger deliveries of its monitor and channel. It is sent also while the channel is stopped; a success
   * takes the channel up again. Returns `not-dead` for one that is not dead.
   */
  replay(deliveryId: number): Promise<'replayed' | 'not-dead' | 'not-found'>;
  /**
   * Queues all dead deliveries of a channel again, each as {@link replay} does, the oldest first and in small
   * steps. Tests and messages of svc itself stay as they are. Answers the number of deliveries.
   *
   * @throws StoreError; what was queued by then stays queued
   */
  replayAll(notificationId: number): Promise<number>;
  /**
   * Sends a test alert: one attempt, at once, past the queue. A kind that keeps incidents open is then told
   * that the incident of the test is over. The ledger stores both under monitor 0, and they update the
   * channel's state. The channel must exist.
   *
   * @throws StoreError
   */
  sendTest(notificationId: number): Promise<TestOutcome>;
}

export type TestOutcome = TestedDelivery & {
  /** The end of the test's incident; null: nothing was to be ended. */
  readonly resolved: TestedDelivery | null;
};

export function createManualDeliveries(parts: {
  store: Store;
  clock: Clock;
  deliverer: Deliverer;
  /** Address that the test alert shows in place of a monitor's address. */
  publicUrl: string;
}): ManualDeliveries {
  const { store, clock, deliverer, publicUrl } = parts;
  return {
    replay(deliveryId) {
      return store.transaction(async (tx) => {
        const lane = await replayDelivery(tx, deliveryId, clock.wall());
        if (typeof lane === 'string') return lane;
        tx.onCommit(() => deliverer.deliverQueued(lane));
        return 'replayed';
      });
    },

    async replayAll(notificationId) {
      let replayed = 0;
      for (let after = 0; ; ) {
        const ids = await deadDeliveries(store, notificationId, after, REPLAYED_AT_ONCE);
        const last = ids.at(-1);
        if (last === undefined) return replayed;
        after = last;
        replayed += await store.transaction(async (tx) => {
          const lanes = await replayDeliveries(tx, ids, clock.wall());
          for (const lane of lanes) tx.onCommit(() => deliverer.deliverQueued(lane));
          return lanes.length;
        });
      }
    },

    async sendTest(notificationId) {
      const alert = testAlert(clock.wall(), publicUrl);
      const tested = await deliverer.sendTest(notificationId, alert, null);
      const { result, kind } = tested;
      if (result.outcome !== 'delivered' || !closesIncidents(kind)) return { ...tested, resolved: null };
      const { errorMessage: _message, ...rest } = alert;
      const end: Alert = { ...rest, status: 'recovered', at: Math.floor(clock.wall()) };
      const resolved = await deliverer.sendTest(notificationId, end, result.thread ?? null);
      return { ...tested, resolved };
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
    cronTimestamp: Math.floor(at),
    errorMessage: 'Test alert: nothing is wrong.',
    at: Math.floor(at),
    reason: 'test',
    incident: `test-${randomUUID()}`,
    regions: [],
    test: true,
  };
}
