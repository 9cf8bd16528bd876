import fc from 'fast-check';
import { expect, test } from 'vitest';
import { loopbackParts } from '../../../../test/support/channel-sending.ts';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../test/support/configured-store.ts';
import { queueAlerts } from '../../../../test/support/coordinator/queue-alerts.ts';
import { TEST_IDS } from '../../../../test/support/test-ids.ts';
import type { Channel, SendOutcome, SendResult } from './channel.ts';
import { Deliverer } from './deliverer.ts';
import { CHANNELS } from './registry.ts';
import { createSender } from './sender.ts';
import { storedChannels } from './stored-channels.ts';

/*
 * Tests random alerts of several channels and monitors,
 * with random answers of the receivers, and with restarts.
 */
const alerts = fc.array(
  fc.record({ channel: fc.integer({ min: 0, max: 2 }), monitor: fc.integer({ min: 1, max: 4 }) }),
  {
    minLength: 1,
    maxLength: 25,
  },
);
const verdicts = fc.infiniteStream(
  fc.constantFrom<SendOutcome>('delivered', 'retry', 'retry', 'retry', 'permanent-message'),
);
const restarts = fc.infiniteStream(fc.constantFrom(true, false, false, false));

type Send = { id: string; notificationId: number; outcome: SendOutcome };

test('alerts are sent in order per monitor and channel, each until it is delivered or dead, also over restarts', async () => {
  await fc.assert(
    fc.asyncProperty(alerts, verdicts, restarts, async (queued, outcomes, restartsAt) => {
      const configured = await configuredStore();
      try {
        const sends = await deliverAll(configured, queued, outcomes, restartsAt);
        const rows = await configured.store.read.selectFrom('deliveries').selectAll().orderBy('id').execute();
        expect(rows).toHaveLength(queued.length);
        const pairs = Map.groupBy(rows, (row) => `${row.notification_id}:${row.monitor_id}`);
        for (const pair of pairs.values()) {
          const uids = pair.map(({ uid }) => uid);
          const ofLane = sends.filter(({ id }) => uids.includes(id));
          // Apart from repetitions, the messages are in the order of the queue:
          // no alert overtakes another alert of its pair, and none is left out.
          expect(ofLane.map(({ id }) => id).filter((id, index, all) => id !== all[index - 1])).toEqual(uids);
        }
        for (const row of rows) {
          const outcomesOf = sends.filter(({ id }) => id === row.uid).map(({ outcome }) => outcome);
          expect(outcomesOf.slice(0, -1).every((outcome) => outcome === 'retry')).toBe(true);
          expect(row.state).toBe(outcomesOf.at(-1) === 'delivered' ? 'delivered' : 'dead');
          expect(row.attempts).toBe(outcomesOf.length);
        }
      } finally {
        await configured.dispose();
      }
    }),
    { numRuns: 10 },
  );
});

/** Queues all alerts, then lets time pass until none is pending. */
async function deliverAll(
  { store, secrets, clock, configuration, workspaceId }: ConfiguredStore,
  queued: readonly { channel: number; monitor: number }[],
  outcomes: Iterator<SendOutcome>,
  restartsAt: Iterator<boolean>,
): Promise<Send[]> {
  const sends: Send[] = [];
  const scripted: Channel<'webhook'> = {
    ...CHANNELS.webhook,
    async send(settings, _alert, { deliveryId }): Promise<SendResult> {
      const outcome = outcomes.next().value as SendOutcome;
      sends.push({ id: deliveryId, notificationId: Number(settings.endpoint.slice(-1)), outcome });
      return outcome === 'delivered' ? { outcome } : { outcome, error: 'as scripted' };
    },
  };
  const post = () => Promise.reject(new TypeError('nothing is posted here'));
  const create = () =>
    new Deliverer({
      store,
      secrets,
      ids: TEST_IDS,
      clock,
      log: silentLog,
      send: createSender(loopbackParts({ post }), { ...CHANNELS, webhook: scripted }),
      source: storedChannels(store, secrets),
      publicUrl: 'http://svc.example',
    });
  const channels = await configuration.transaction({ workspaceId, actor: 'api' }, async (change) => {
    const ids: number[] = [];
    for (const name of ['0', '1', '2']) {
      const settings = { endpoint: `http://receiver.example/${name}`, headers: null };
      ids.push(
        await change.create('svc_notification', {
          name,
          provider_type: 'webhook',
          monitor_ids: [],
          group_alerts: true,
          notify_unknown: true,
          remind_every: null,
          settings,
        }),
      );
    }
    return ids;
  });

  let deliverer = create();
  await deliverer.start();
  for (const { channel, monitor } of queued) {
    await queueAlerts(store, clock, deliverer, [
      {
        notificationId: channels[channel] ?? 0,
        monitorId: monitor,
        alert: {
          monitor: { id: monitor, name: 'm', url: 'http://m.example/', type: 'http' },
          status: 'error',
          cronTimestamp: 1,
          at: 1,
          reason: 'test',
          incident: 'test',
          regions: [],
        },
      },
    ]);
  }
  while (await isPending(store)) {
    if (restartsAt.next().value) {
      await deliverer.stop();
      deliverer = create();
      await deliverer.start();
    }
    clock.advance(600_000);
  }
  await deliverer.stop();
  return sends;
}

/** Whether a delivery is pending, after earlier writes of the store have ended. */
async function isPending(store: ConfiguredStore['store']): Promise<boolean> {
  await store.transaction(() => {});
  const row = await store.read
    .selectFrom('deliveries')
    .select('id')
    .where('state', '=', 'pending')
    .executeTakeFirst();
  return row !== undefined;
}
