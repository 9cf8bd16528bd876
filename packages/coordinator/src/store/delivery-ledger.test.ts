import type { Alert } from '@svc/shared/channels/alert.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConfiguredStore, configuredStore } from '../../../../test/support/configured-store.ts';
import { type DeliveryStep, recordSteps } from './delivery-ledger.ts';
import { headsOf, insertDeliveries, type LaneId, type QueuedRow, replayDelivery } from './delivery-queue.ts';

let parts: ConfiguredStore;
let channel: number;

beforeEach(async () => {
  parts = await configuredStore();
  const { configuration, workspaceId } = parts;
  channel = await configuration.transaction({ workspaceId, actor: 'api' }, (change) =>
    change.create('svc_notification', {
      name: null,
      provider_type: 'webhook',
      monitor_ids: [],
      group_alerts: true,
      settings: { endpoint: 'http://receiver.example/', headers: null },
    }),
  );
});
afterEach(() => parts.dispose());

const ALERT: Alert = {
  monitor: { id: 1, name: 'Shop', url: 'http://shop.example/', type: 'http' },
  status: 'error',
  cronTimestamp: 1,
  at: 1,
  reason: 'test',
  incident: 'test',
  regions: [],
};

const row = (uid: string, notificationId = channel): QueuedRow => ({
  uid,
  notificationId,
  monitorId: 1,
  alert: JSON.stringify(ALERT),
  incident: ALERT.incident,
  status: ALERT.status,
  createdAt: 1_000.75,
});

const headOf = async (lane: LaneId) => (await headsOf(parts.store, parts.secrets, [lane]))[0];

const queue = (rows: readonly QueuedRow[]) => {
  const { sql, rows: parameters } = insertDeliveries(rows);
  return parts.store.transaction((tx) => tx.runEach(sql, parameters));
};

test('a delivery to a channel that is gone is left out, and the others are queued under their ids', async () => {
  const outcomes = await queue([row('a'), row('b', channel + 1), row('c')]);
  expect(outcomes.map(({ changes }) => changes)).toEqual([1, 0, 1]);
  const stored = await parts.store.read.selectFrom('deliveries').select(['id', 'uid', 'state']).execute();
  expect(stored).toEqual([
    { id: outcomes[0]?.id, uid: 'a', state: 'pending' },
    { id: outcomes[2]?.id, uid: 'c', state: 'pending' },
  ]);
  expect(await headOf({ notificationId: channel, monitorId: 1 })).toEqual({
    id: outcomes[0]?.id,
    uid: 'a',
    notificationId: channel,
    monitorId: 1,
    alert: ALERT,
    attempts: 0,
    tries: 0,
    createdAt: 1_000,
    replayedAt: null,
    hasNewer: true,
    hasNewerOfIncident: true,
    isAnnounced: false,
    thread: null,
    groupUid: null,
  });
});

test('an attempt answers what comes next in its lane, and nothing of a delivery that is gone', async () => {
  const [first, second] = await queue([row('a'), row('b')]);
  const lane = { notificationId: channel, monitorId: 1 };
  const attempt = {
    number: 1,
    at: 1_500.5,
    durationMs: 20.26,
    outcome: 'retry',
    reason: 'receiver',
    statusCode: 503,
    error: 'busy',
    reply: 'come later',
  };
  const record = (deliveryId = 0, state: 'pending' | 'delivered' = 'pending'): DeliveryStep => ({
    deliveryId,
    lane,
    error: 'busy',
    announced: state === 'pending' ? null : { incident: 'test', thread: 'message 7' },
    attempt: { ...attempt, deliveryId },
    state,
    nextAttemptAt: state === 'pending' ? 6_000.5 : null,
    channel: { state: 'failing', reason: 'busy' } as const,
    kept: null,
    isGroupKept: false,
  });
  const recorded = async (one: DeliveryStep) => {
    const { following } = await parts.store.transaction((tx) =>
      recordSteps(tx, parts.secrets, [one], 1_600.9),
    );
    return following;
  };
  expect(await recorded(record(first?.id))).toEqual([null]);
  expect(await headOf(lane)).toMatchObject({ uid: 'a', attempts: 1, tries: 1 });
  expect(await recorded({ ...record(second?.id, 'delivered') })).toMatchObject([
    { uid: 'a', isAnnounced: true, thread: 'message 7', hasNewer: false },
  ]);
  expect(await recorded(record(9_999, 'delivered'))).toEqual([null]);
  const { read } = parts.store;
  expect(await read.selectFrom('delivery_attempts').select(['at', 'duration', 'reply']).execute()).toEqual(
    Array(2).fill({ at: 1_500, duration: 20.3, reply: 'come later' }),
  );
  const stored = await read
    .selectFrom('deliveries')
    .select(['created_at', 'next_attempt_at', 'finished_at'])
    .orderBy('id')
    .execute();
  expect(stored).toEqual([
    { created_at: 1_000, next_attempt_at: 6_000, finished_at: null },
    { created_at: 1_000, next_attempt_at: null, finished_at: 1_600 },
  ]);
});

test('only what is dead is replayed', async () => {
  const [queued] = await queue([row('a')]);
  const id = queued?.id ?? 0;
  const replayed = (deliveryId: number) =>
    parts.store.transaction((tx) => replayDelivery(tx, deliveryId, 2_000.5));
  expect(await replayed(id)).toBe('not-dead');
  expect(await replayed(id + 1)).toBe('not-found');
  await parts.store.transaction((tx) => tx.runEach("UPDATE deliveries SET state = 'dead'", [[]]));
  expect(await replayed(id)).toEqual({ notificationId: channel, monitorId: 1 });
  expect(await headOf({ notificationId: channel, monitorId: 1 })).toMatchObject({
    replayedAt: 2_000,
  });
});
