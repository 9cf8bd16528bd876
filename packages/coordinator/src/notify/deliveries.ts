import { randomUUID } from 'node:crypto';
import type { Alert } from '@svc/shared/channels/alert.ts';
import type { Clock } from '@svc/shared/clock.ts';
import type { Store } from '../store/store.ts';
import type { SendResult } from './channel.ts';
import type { Deliverer } from './deliverer.ts';
import { errorOf, LedgerStatements } from './ledger-statements.ts';

/** What people do with deliveries by hand. */
export interface Deliveries {
  /**
   * Queues a dead delivery again, with the same id for the receiver and a fresh schedule of 24 h, before
   * younger ones of its monitor and channel. Answers `not-dead` for one that is pending or delivered.
   */
  replay(deliveryId: number): Promise<'replayed' | 'not-dead' | 'not-found'>;
  /**
   * Sends a test alert: one attempt, at once, past the queue. It stands in the ledger under monitor 0 and
   * updates the channel's state. The channel must exist.
   */
  sendTest(notificationId: number): Promise<TestOutcome>;
}

export type TestOutcome = { deliveryId: number; at: number; durationMs: number; result: SendResult };

export function createDeliveries(options: {
  store: Store;
  clock: Clock;
  deliverer: Deliverer;
  /** Stands in the test alert where a monitor's address would. */
  publicUrl: string;
}): Deliveries {
  const { store, clock, deliverer, publicUrl } = options;
  return {
    replay(deliveryId) {
      return store.transaction(async (tx) => {
        const delivery = await tx.db
          .selectFrom('deliveries')
          .select(['state', 'notification_id', 'monitor_id'])
          .where('id', '=', deliveryId)
          .executeTakeFirst();
        if (delivery === undefined) return 'not-found';
        if (delivery.state !== 'dead') return 'not-dead';
        await tx.db
          .updateTable('deliveries')
          .set({ state: 'pending', replayed_at: clock.wall(), next_attempt_at: null, finished_at: null })
          .where('id', '=', deliveryId)
          .execute();
        const lane = { notificationId: delivery.notification_id, monitorId: delivery.monitor_id };
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
      });
      const durationMs = clock.monotonic() - startedAt;
      const isDelivered = result.outcome === 'delivered';
      const deliveryId = await store.transaction(async (tx) => {
        const { insertId } = await tx.db
          .insertInto('deliveries')
          .values({
            uid,
            notification_id: notificationId,
            monitor_id: alert.monitor.id,
            alert: JSON.stringify(alert),
            state: isDelivered ? 'delivered' : 'dead',
            attempts: 1,
            next_attempt_at: null,
            last_error: errorOf(result),
            created_at: at,
            replayed_at: null,
            finished_at: clock.wall(),
          })
          .executeTakeFirstOrThrow();
        const statements = new LedgerStatements(tx.sqlite);
        statements.insertAttempt(Number(insertId), 1, { at, durationMs, result });
        statements.writeChannelState(notificationId, result);
        return Number(insertId);
      });
      return { deliveryId, at, durationMs, result };
    },
  };
}

/** Says `error`, so that the way of a real alert is tried as a whole, and in every text that it is a test. */
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
