import { randomUUID } from 'node:crypto';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Clock } from '@svc/shared/clock.ts';
import { deadDeliveries, replayDeliveries, replayDelivery } from '../store/alerts/delivery-queue.ts';
import type { Store } from '../store/store.ts';
import type { Deliverer, TestedDelivery } from './deliverer.ts';
import { closesIncidents } from './registry.ts';

/**
 * Maximum number of deliveries that one transaction queues again.
 * Such a transaction delays other writes by a few milliseconds.
 */
const REPLAYED_AT_ONCE = 200;

/** Deliveries that users start: replays and tests. */
export interface ManualDeliveries {
  /**
   * Queues a dead delivery again, with the same uid and a new schedule of 24 h. It is sent in a message of its
   * own, before younger deliveries of its monitor and channel that still wait, and even if the channel is
   * stopped. If it is delivered, a stopped channel starts again.
   *
   * @returns `not-dead` or `not-found` if there is no such dead delivery
   */
  replayDelivery(deliveryId: number): Promise<'replayed' | 'not-dead' | 'not-found'>;
  /**
   * Queues all dead deliveries of a channel again, as {@link replayDelivery} does, the oldest first.
   * Tests and messages of svc about itself stay dead. Returns the number of deliveries that were queued.
   *
   * @throws StoreError; the deliveries that were queued before the error stay queued
   */
  replayChannel(notificationId: number): Promise<number>;
  /**
   * Makes one attempt to send a test alert, at once and without the queue. If the test is
   * delivered, and the kind keeps incidents open, a second alert ends the test's incident. The
   * ledger stores both alerts under monitor 0, and the results update the channel's state.
   *
   * @throws StoreError also when there is no such channel
   */
  sendTest(notificationId: number): Promise<TestOutcome>;
}

export type TestOutcome = TestedDelivery & {
  /** The second alert, which ends the test's incident; null: none was sent. */
  readonly resolved: TestedDelivery | null;
};

export function createManualDeliveries(parts: {
  store: Store;
  clock: Clock;
  deliverer: Deliverer;
  /** Public URL of svc. A test alert has it in the place of a monitor's address. */
  publicUrl: string;
}): ManualDeliveries {
  const { store, clock, deliverer, publicUrl } = parts;
  return {
    replayDelivery(deliveryId) {
      return store.transaction(async (tx) => {
        const pair = await replayDelivery(tx, deliveryId, clock.wall());
        if (typeof pair === 'string') return pair;
        tx.onCommit(() => deliverer.deliverQueued(pair));
        return 'replayed';
      });
    },

    async replayChannel(notificationId) {
      let replayed = 0;
      for (let after = 0; ; ) {
        const ids = await deadDeliveries(store, notificationId, after, REPLAYED_AT_ONCE);
        const last = ids.at(-1);
        if (last === undefined) return replayed;
        after = last;
        replayed += await store.transaction(async (tx) => {
          const pairs = await replayDeliveries(tx, ids, clock.wall());
          for (const pair of pairs) tx.onCommit(() => deliverer.deliverQueued(pair));
          return pairs.length;
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
 * Makes a test alert. Its status is `error`, so that svc handles
 * it like a real alert. Its texts say that it is a test.
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
