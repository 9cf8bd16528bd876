import { expect, onTestFinished, test } from 'vitest';
import { type ConfiguredStore, configuredStore } from '../../../../../test/support/configured-store.ts';
import { NotedStatements } from '../../../../../test/support/noted-statements.ts';
import { ONLY_SHARD } from '../../verdict/shard.ts';
import { DELIVERY_STATES } from '../schema.ts';
import {
  attemptsOf,
  findDelivery,
  insertFinished,
  newestDeliveries,
  recordSteps,
} from './delivery-ledger.ts';
import {
  deadDeliveries,
  deliveriesAfter,
  dueChannels,
  groupableDeliveries,
  hastenChannel,
  hastenOlder,
  insertDeliveries,
  joinGroup,
  lastDeliveryId,
  nextDeliveries,
  passOnTurns,
  type QueuedRow,
  replayDelivery,
  shortenWaits,
  waitingChannels,
} from './delivery-queue.ts';

import { dueReminders } from './reminders.ts';

const statements = new NotedStatements();

test('no statement about deliveries reads all of them', async () => {
  const parts = await configuredStore(statements.workers);
  onTestFinished(() => parts.dispose());
  const channel = await addChannel(parts);
  statements.clear();
  await callEach(parts, channel);

  const plans = [...statements.plans(parts.database.file).values()];
  // The index has one entry for each monitor and channel with pending deliveries.
  const scans = plans
    .flat()
    .filter((detail) => detail.startsWith('SCAN ') && !detail.includes('deliveries_due'));
  expect(scans).toEqual([]);
  expect(plans.length).toBeGreaterThan(30);
});

test('the dead deliveries of a channel are found without its delivered ones', async () => {
  const parts = await configuredStore(statements.workers);
  onTestFinished(() => parts.dispose());
  statements.clear();
  await deadDeliveries(parts.store, 1, 0, 10);
  await newestDeliveries(parts.store, { of: { notificationId: 1 }, state: 'dead', beforeId: 9, limit: 10 });

  for (const plan of statements.plans(parts.database.file).values()) {
    expect(plan).toEqual([expect.stringContaining('USING INDEX deliveries_dead ')]);
  }
});

test('the search for reminders reads only the alerts that are open, and no ended deliveries', async () => {
  const parts = await configuredStore(statements.workers);
  onTestFinished(() => parts.dispose());
  statements.clear();
  const place = { monitorId: 4, notificationId: 2 };
  for (const after of [null, place])
    await dueReminders(parts.store, ONLY_SHARD, {
      exceptKinds: ['incident_a'],
      after,
      limit: 100,
      now: 1_000,
    });

  for (const plan of statements.plans(parts.database.file).values()) {
    const [first, ...others] = plan;
    expect(first).toContain('l USING INDEX links_alerted');
    expect(others.filter((detail) => detail.startsWith('SCAN '))).toEqual([]);
    expect(others).toContainEqual(
      expect.stringMatching(/^SEARCH t USING PRIMARY KEY \(notification_id=\? AND incident=\?\)/),
    );
    const ofDeliveries = others.filter((detail) => /^SEARCH d /.test(detail));
    expect(ofDeliveries).toEqual([expect.stringContaining('INDEX deliveries_pending ')]);
  }
});

function addChannel({ configuration, workspaceId }: ConfiguredStore): Promise<number> {
  return configuration.transaction({ workspaceId, actor: 'api' }, (change) =>
    change.create('svc_notification', {
      name: null,
      provider_type: 'webhook',
      monitor_ids: [],
      group_alerts: true,
      notify_unknown: true,
      remind_every: null,
      settings: { endpoint: 'http://receiver.example/', headers: null },
    }),
  );
}

/** Runs the statements of the outbox and of the ledger. */
async function callEach(
  { store, secrets, workspaceId }: ConfiguredStore,
  notificationId: number,
): Promise<void> {
  const pair = { notificationId, monitorId: 1 };
  const row: QueuedRow = { ...pair, uid: 'a', alert: '{}', incident: 'i', status: 'error', createdAt: 1 };
  await store.commit([insertDeliveries([row]), hastenOlder([row])]);
  const search = { notificationId, exceptMonitors: [7], limit: 10 };
  await nextDeliveries(store, secrets, search);
  await nextDeliveries(store, secrets, { ...search, exceptMonitors: [] });
  for (const groupUid of [null, 'g']) {
    await groupableDeliveries(store, secrets, { ...search, queued: { after: 0, before: 2 }, groupUid });
  }
  const attempt = {
    at: 1,
    durationMs: 1,
    outcome: 'ok',
    reason: null,
    statusCode: 200,
    error: null,
    reply: null,
  };
  const channel = { state: 'stopped', reason: 'gone' } as const;
  await store.transaction(async (tx) => {
    await joinGroup(tx, [1], 'g');
    await hastenChannel(tx, notificationId);
    await recordSteps(
      tx,
      [
        {
          pair,
          deliveryId: 1,
          newestId: 1,
          attempt: { ...attempt, deliveryId: 1, number: 1 },
          error: null,
          state: 'delivered',
          nextAttemptAt: null,
          waitMs: null,
          channel,
          announced: { incident: 'i', thread: 't' },
          kept: 'k',
          isGroupKept: false,
        },
      ],
      2,
    );
    await insertFinished(
      tx,
      { ...row, uid: 'b' },
      { attempt, state: 'dead', channel: { state: 'failing', reason: 'r' } },
      2,
    );
    await replayDelivery(tx, 2, 3);
    await passOnTurns(tx, [pair]);
  });
  // The remaining wait is longer than the whole wait, so `shortenWaits` also runs its second statement.
  await store.transaction((tx) => tx.query('UPDATE deliveries SET due_at = 100000 WHERE id = 2'));
  await shortenWaits(store, 5);
  await dueChannels(store);
  await waitingChannels(store);
  await lastDeliveryId(store);
  await deliveriesAfter(store, 1);
  await deadDeliveries(store, notificationId, 0, 10);
  for (const of of [{ notificationId }, { monitorId: 1 }]) {
    for (const state of [null, ...DELIVERY_STATES]) {
      for (const beforeId of [null, 9]) await newestDeliveries(store, { of, state, beforeId, limit: 10 });
    }
  }
  await findDelivery(store, workspaceId, 2);
  await attemptsOf(store, [1, 2]);
}
