import type { Alert } from '@svc/shared/channels/alert.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConfiguredStore, configuredStore } from '../../../../../test/support/configured-store.ts';
import { type DeliveryStep, recordSteps } from './delivery-ledger.ts';
import {
  hastenChannel,
  hastenOlder,
  insertDeliveries,
  nextDeliveries,
  type QueuedRow,
  replayDelivery,
  shortenWaits,
} from './delivery-queue.ts';

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
      notify_unknown: true,
      remind_every: null,
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

const row = (uid: string, notificationId = channel, monitorId = 1): QueuedRow => ({
  uid,
  notificationId,
  monitorId,
  alert: JSON.stringify(ALERT),
  incident: ALERT.incident,
  status: ALERT.status,
  createdAt: 1_000.75,
});

const next = (exceptMonitors: number[] = []) =>
  nextDeliveries(parts.store, parts.secrets, { notificationId: channel, exceptMonitors, limit: 10 });
const nextIds = async () => (await next()).map(({ uid, dueAt }) => `${uid} ${dueAt}`);

const queue = (rows: readonly QueuedRow[]) => {
  const { sql, rows: parameters } = insertDeliveries(rows);
  return parts.store.transaction((tx) => tx.runEach(sql, parameters));
};

test('a delivery to a removed channel is left out, and the others are queued under their ids', async () => {
  const outcomes = await queue([row('a'), row('b', channel + 1), row('c')]);
  expect(outcomes.map(({ changes }) => changes)).toEqual([1, 0, 1]);
  const stored = await parts.store.read.selectFrom('deliveries').select(['id', 'uid', 'state']).execute();
  expect(stored).toEqual([
    { id: outcomes[0]?.id, uid: 'a', state: 'pending' },
    { id: outcomes[2]?.id, uid: 'c', state: 'pending' },
  ]);
  expect(await next()).toHaveLength(1);
  expect((await next())[0]).toEqual({
    id: outcomes[0]?.id,
    uid: 'a',
    notificationId: channel,
    monitorId: 1,
    alert: ALERT,
    attempts: 0,
    tries: 0,
    createdAt: 1_000,
    replayedAt: null,
    newestId: outcomes[2]?.id,
    // The `incident` of these deliveries is not the key of a stored incident.
    hasNewer: false,
    hasNewerOfIncident: true,
    isAnnounced: false,
    isOpen: false,
    thread: null,
    groupUid: null,
    dueAt: 0,
  });
});

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
const stepOf = (
  deliveryId = 0,
  state: 'pending' | 'delivered' = 'pending',
  { monitorId = 1, at = attempt.at, nextAttemptAt = 6_000.5, newestId = deliveryId } = {},
): DeliveryStep => ({
  deliveryId,
  newestId,
  pair: { notificationId: channel, monitorId },
  error: 'busy',
  announced: state === 'pending' ? null : { incident: 'test', thread: 'message 7' },
  attempt: { ...attempt, at, number: Math.floor(at), deliveryId },
  state,
  nextAttemptAt: state === 'pending' ? nextAttemptAt : null,
  waitMs: state === 'pending' ? nextAttemptAt - at - attempt.durationMs : null,
  channel: { state: 'failing', reason: 'busy' } as const,
  kept: null,
  isGroupKept: false,
});
const record = (...steps: DeliveryStep[]) => parts.store.transaction((tx) => recordSteps(tx, steps, 1_600.9));

test('the oldest delivery of a pair is due first and then the next; a step of a deleted delivery is left out', async () => {
  const [first, second] = await queue([row('a'), row('b')]);
  const failed = stepOf(first?.id, 'pending', { newestId: second?.id ?? 0 });
  await record({ ...failed, attempt: { ...attempt, deliveryId: first?.id ?? 0 } });
  expect(await next()).toMatchObject([{ uid: 'a', attempts: 1, tries: 1, dueAt: 6_000 }]);
  expect(await next([1])).toEqual([]);
  await record({
    ...stepOf(first?.id, 'delivered'),
    attempt: { ...attempt, number: 2, deliveryId: first?.id ?? 0 },
  });
  expect(await next()).toMatchObject([
    { uid: 'b', isAnnounced: true, thread: 'message 7', hasNewer: false, dueAt: 0 },
  ]);
  await record(stepOf(9_999, 'delivered'));
  const { read } = parts.store;
  expect(await read.selectFrom('delivery_attempts').select(['at', 'duration', 'reply']).execute()).toEqual(
    Array(2).fill({ at: 1_500, duration: 20.3, reply: 'come later' }),
  );
  const stored = await read
    .selectFrom('deliveries')
    .select(['created_at', 'next_attempt_at', 'finished_at', 'due_at'])
    .orderBy('id')
    .execute();
  expect(stored).toEqual([
    { created_at: 1_000, next_attempt_at: null, finished_at: 1_600, due_at: null },
    { created_at: 1_000, next_attempt_at: null, finished_at: null, due_at: 0 },
  ]);
});

test('the end of a wait may be an instant that needs more than 32 bits', async () => {
  const [first] = await queue([row('a')]);
  const at = Date.UTC(2026, 0, 1);
  await record(stepOf(first?.id, 'pending', { at: 1_500, nextAttemptAt: at }));
  expect(await nextIds()).toEqual([`a ${at}`]);
});

test('a younger delivery makes the older one due, even if it was queued during the attempt', async () => {
  const [first] = await queue([row('a')]);
  await record(stepOf(first?.id, 'pending', { at: 900 }));
  expect(await nextIds()).toEqual(['a 6000']);
  const [second] = await queue([row('b')]);
  await parts.store.commit([hastenOlder([row('b')])]);
  expect(await nextIds()).toEqual(['a 0']);
  await record(stepOf(first?.id, 'pending', { at: 1_000 }));
  expect(await nextIds()).toEqual(['a 0']);
  await record(stepOf(first?.id, 'pending', { at: 1_100, newestId: second?.id ?? 0 }));
  expect(await nextIds()).toEqual(['a 6000']);
});

test('a successful delivery makes the waiting ones of its channel due, each once before its own back-off ends', async () => {
  const [a, b] = await queue([row('a', channel, 1), row('b', channel, 2)]);
  await record(stepOf(a?.id, 'pending', { monitorId: 1, at: 2_000, nextAttemptAt: 7_000 }));
  await record(stepOf(b?.id, 'delivered', { monitorId: 2 }));
  expect(await nextIds()).toEqual(['a 0']);
  // The attempt fails. It was made before the regular time of the delivery.
  await record(stepOf(a?.id, 'pending', { monitorId: 1, at: 3_000, nextAttemptAt: 13_000 }));
  const [c] = await queue([row('c', channel, 3)]);
  await record(stepOf(c?.id, 'delivered', { monitorId: 3 }));
  expect(await nextIds()).toEqual(['a 13000']);
  await record(stepOf(a?.id, 'pending', { monitorId: 1, at: 13_000, nextAttemptAt: 28_000 }));
  const [d] = await queue([row('d', channel, 4)]);
  await record(stepOf(d?.id, 'delivered', { monitorId: 4 }));
  expect(await nextIds()).toEqual(['a 0']);
  await record(stepOf(a?.id, 'pending', { monitorId: 1, at: 14_000, nextAttemptAt: 44_000 }));
  await parts.store.transaction((tx) => hastenChannel(tx, channel));
  expect(await nextIds()).toEqual(['a 0']);
});

test('a replayed delivery comes before the younger ones, even while one of them is being sent', async () => {
  const [a, b] = await queue([row('a'), row('b')]);
  await parts.store.transaction((tx) =>
    tx.runEach("UPDATE deliveries SET state = 'dead', due_at = NULL WHERE id = ?", [[a?.id ?? 0]]),
  );
  await parts.store.transaction((tx) =>
    tx.runEach('UPDATE deliveries SET due_at = 0 WHERE id = ?', [[b?.id ?? 0]]),
  );
  await parts.store.transaction((tx) => replayDelivery(tx, a?.id ?? 0, 2_000));
  expect(await nextIds()).toEqual(['a 0']);
  await record(stepOf(b?.id));
  expect(await nextIds()).toEqual(['a 0']);
  // The channel accepts alerts, so the younger delivery does not wait for the end of its back-off.
  await record(stepOf(a?.id, 'delivered'));
  expect(await nextIds()).toEqual(['b 0']);
});

test('only dead deliveries are replayed', async () => {
  const [queued] = await queue([row('a')]);
  const id = queued?.id ?? 0;
  const replayed = (deliveryId: number) =>
    parts.store.transaction((tx) => replayDelivery(tx, deliveryId, 2_000.5));
  expect(await replayed(id)).toBe('not-dead');
  expect(await replayed(id + 1)).toBe('not-found');
  await parts.store.transaction((tx) => tx.runEach("UPDATE deliveries SET state = 'dead'", [[]]));
  expect(await replayed(id)).toEqual({ notificationId: channel, monitorId: 1 });
  expect(await next()).toMatchObject([{ replayedAt: 2_000 }]);
});

test('after a start, no wait is longer than it was when it began, even if the clock was set back', async () => {
  const [a, b] = await queue([row('a', channel, 1), row('b', channel, 2)]);
  // The wait of the first delivery began at 1,520.76 on the clock of the attempt, and ends at 9,000 on a
  // clock that is ahead.
  const waits = { ...stepOf(a?.id, 'pending', { nextAttemptAt: 9_000 }), waitMs: 5_000 };
  await record(waits, stepOf(b?.id, 'pending', { monitorId: 2, at: 100, nextAttemptAt: 6_000 }));
  const dueAfter = async (now: number) => {
    await shortenWaits(parts.store, now);
    return nextIds();
  };
  expect(await dueAfter(4_100)).toEqual(['b 6000', 'a 9000']);
  expect(await dueAfter(3_000)).toEqual(['b 6000', 'a 8000']);
  expect(await dueAfter(0)).toEqual(['a 5000', 'b 5880']);
});

test('a start keeps the wait after a failure of svc itself, unless the clock was set back', async () => {
  const [a] = await queue([row('a')]);
  await record(stepOf(a?.id));
  await record({ ...stepOf(a?.id), attempt: null, nextAttemptAt: 66_000, waitMs: 60_000 });
  await shortenWaits(parts.store, 6_000);
  expect(await nextIds()).toEqual(['a 66000']);
  await shortenWaits(parts.store, 5_000);
  expect(await nextIds()).toEqual(['a 65000']);
});
