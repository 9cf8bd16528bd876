import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../test/support/configured-store.ts';
import { queueAlerts } from '../../../../test/support/coordinator/queue-alerts.ts';
import {
  alertAbout,
  createScriptedChannel,
  type ScriptedKind,
  type Sent,
  scriptedChannel,
  scriptedDeliverer,
} from '../../../../test/support/coordinator/scripted-deliverer.ts';
import { TEST_IDS } from '../../../../test/support/test-ids.ts';
import type { SendResult } from './channel.ts';
import type { Deliverer } from './deliverer.ts';
import { createManualDeliveries } from './manual-deliveries.ts';
import { OverdueAlerts } from './overdue.ts';
import { IN_PROGRESS_IN_ALL } from './sending-limits.ts';

/* Tests the rules of delivery, on a fake clock, with scripted receivers. */

const MINUTE = 60_000;
const OK: SendResult = { outcome: 'delivered', statusCode: 200 };
const DOWN: SendResult = { outcome: 'retry', error: 'down', statusCode: 503 };
const GONE: SendResult = { outcome: 'permanent-channel', error: 'gone', statusCode: 404 };

let parts: ConfiguredStore;
let deliverer: Deliverer;
let sent: Sent[];
let answer: (sent: Sent) => SendResult | Promise<SendResult>;

beforeEach(async () => {
  parts = await configuredStore();
  sent = [];
  answer = () => OK;
  deliverer = begin();
  await deliverer.start();
});

afterEach(async () => {
  await deliverer.stop();
  await parts.dispose();
});

function begin(): Deliverer {
  return scriptedDeliverer(parts, (one) => {
    sent.push(one);
    return answer(one);
  });
}

function overdueAlerts(): OverdueAlerts {
  const { store, secrets, clock } = parts;
  const publicUrl = 'http://svc.example';
  return new OverdueAlerts({ store, secrets, ids: TEST_IDS, clock, log: silentLog, publicUrl, deliverer });
}

const channel = (kind: ScriptedKind) => createScriptedChannel(parts, kind, { name: `my ${kind}` });

function queue(notificationId: number, monitorId: number, ...statuses: AlertStatus[]): Promise<void> {
  const { store, clock } = parts;
  const alerts = statuses.map((status) => ({
    notificationId,
    monitorId,
    alert: alertAbout(monitorId, status),
  }));
  return queueAlerts(store, clock, deliverer, alerts);
}

const monitors = () => sent.map(({ alert }) => alert.monitor.id);
const states = async () =>
  (await parts.store.read.selectFrom('deliveries').select('state').orderBy('id').execute()).map(
    ({ state }) => state,
  );
const arrived = (count: number) => expect.poll(() => sent.length).toBe(count);
const stored = (expected: readonly string[]) => expect.poll(states).toEqual(expected);
const byHand = () =>
  createManualDeliveries({
    store: parts.store,
    clock: parts.clock,
    deliverer,
    publicUrl: 'http://svc.example',
  });

test('a success makes all waiting alerts of its channel due, each once until its own wait is over', async () => {
  const id = await channel('webhook');
  answer = () => DOWN;
  await queue(id, 1, 'error');
  await queue(id, 2, 'error');
  await arrived(2);
  await expect.poll(() => deliverer.sending).toBe(0);
  parts.clock.advance(1_000);
  answer = ({ alert }) => (alert.monitor.id === 1 ? DOWN : OK);
  await queue(id, 3, 'error');
  await arrived(5);
  expect(monitors().slice(2).sort()).toEqual([1, 2, 3]);
  await stored(['pending', 'delivered', 'delivered']);
  parts.clock.advance(500);
  await queue(id, 4, 'error');
  await stored(['pending', 'delivered', 'delivered', 'delivered']);
  expect(sent).toHaveLength(6);
});

test('a receiver that requests a pause gets nothing until its end, and then first the alerts that were not tried', async () => {
  const id = await channel('webhook');
  answer = () => ({ outcome: 'retry', error: 'slow down', statusCode: 429, retryAfterMs: 60_000 });
  await queue(id, 9, 'error');
  await queue(id, 5, 'error');
  await arrived(1);
  await queue(id, 7, 'error');
  await expect.poll(() => deliverer.sending).toBe(0);
  parts.clock.advance(59_000);
  expect(sent).toHaveLength(1);
  answer = () => OK;
  while (sent.length < 4) await parts.clock.advanceSettling(500);
  expect(monitors().slice(1)).toEqual([5, 7, 9]);
});

test('an alert that a receiver puts off for an hour is tried again, although nothing else waited meanwhile', async () => {
  const id = await channel('webhook');
  await queue(id, 1, 'error');
  await stored(['delivered']);
  const held = new Map<number, (result: SendResult) => void>();
  answer = ({ alert }) => new Promise((resolve) => held.set(alert.monitor.id, resolve));
  await queue(id, 2, 'error');
  await queue(id, 3, 'error');
  await arrived(3);
  held.get(2)?.(OK);
  await stored(['delivered', 'delivered', 'pending']);
  await expect.poll(() => deliverer.sending).toBe(1);
  held.get(3)?.({ outcome: 'retry', error: 'slow down', statusCode: 429, retryAfterMs: 60 * MINUTE });
  await expect.poll(() => deliverer.sending).toBe(0);
  answer = () => OK;
  parts.clock.advance(61 * MINUTE);
  await stored(['delivered', 'delivered', 'delivered']);
});

test('a younger alert of a monitor does not wait for the end of a long back-off', async () => {
  const id = await channel('webhook');
  answer = () => DOWN;
  await queue(id, 1, 'error');
  for (let attempt = 1; attempt <= 12; attempt += 1) {
    await arrived(attempt);
    await expect.poll(() => deliverer.sending).toBe(0);
    if (attempt < 12) parts.clock.advance(75 * MINUTE);
  }
  answer = () => OK;
  await queue(id, 1, 'degraded');
  parts.clock.advance(30_000);
  await stored(['delivered', 'delivered']);
});

test('a failure of svc itself is no attempt, and the alert is tried again soon', async () => {
  const id = await channel('webhook');
  answer = () => ({ outcome: 'not-sent', error: 'SVC_X is not set' });
  await queue(id, 1, 'error');
  await arrived(1);
  await expect.poll(() => deliverer.sending).toBe(0);
  const [row] = await parts.store.read.selectFrom('deliveries').selectAll().execute();
  expect(row).toMatchObject({ state: 'pending', attempts: 0, last_error: 'SVC_X is not set' });
  answer = () => OK;
  parts.clock.advance(MINUTE);
  await stored(['delivered']);
});

test('a dead address stops its channel, people get one message about it, and a test starts the channel again', async () => {
  const id = await channel('webhook');
  const mail = await channel('email');
  const pager = await channel('incident_a');
  answer = ({ kind }) => (kind === 'webhook' ? GONE : OK);
  await queue(id, 1, 'error', 'degraded');
  await queue(id, 2, 'error');
  await expect.poll(() => sent.filter(({ kind }) => kind === 'email').length).toBe(1);
  expect(sent.filter(({ kind }) => kind === 'incident_a')).toEqual([]);
  const notice = sent.find(({ kind }) => kind === 'email')?.alert.notice;
  expect(notice?.title).toBe('The notification channel my webhook is stopped');
  expect(notice?.lines.join()).toContain('Its alerts are given up.');
  await expect.poll(async () => (await states()).filter((state) => state === 'dead').length).toBe(3);
  const stopped = await parts.store.read
    .selectFrom('notifications')
    .select(['id', 'state', 'state_reason'])
    .where('stopped_at', 'is not', null)
    .execute();
  expect(stopped).toEqual([{ id, state: 'failing', state_reason: 'gone' }]);
  answer = () => OK;
  expect((await byHand().sendTest(id)).result.outcome).toBe('delivered');
  await queue(id, 3, 'error');
  await expect.poll(() => monitors().at(-1)).toBe(3);
  expect([mail, pager]).toHaveLength(2);
});

test('an address counts as dead when a second answer calls it dead minutes later', async () => {
  const id = await channel('webhook');
  answer = () => ({ outcome: 'retry', error: 'forbidden', statusCode: 403, mayBeDead: true });
  await queue(id, 1, 'error');
  await arrived(1);
  await expect.poll(() => deliverer.sending).toBe(0);
  expect(await states()).toEqual(['pending']);
  parts.clock.advance(5 * MINUTE);
  await stored(['dead']);
});

test('an incident kind gets no older state of an incident, and no end of an incident that it does not know', async () => {
  const id = await channel('incident_a');
  answer = () => ({ ...DOWN, reason: 'unreachable' });
  await queue(id, 1, 'error');
  await arrived(1);
  await queue(id, 1, 'degraded', 'recovered');
  await expect.poll(() => deliverer.sending).toBe(0);
  answer = () => OK;
  parts.clock.advance(MINUTE);
  await stored(['superseded', 'superseded', 'superseded']);
  expect(sent).toHaveLength(1);
});

test('the end of an incident is sent if an earlier alert may have arrived without an answer', async () => {
  const id = await channel('incident_a');
  answer = () => ({ outcome: 'retry', error: 'no answer' });
  await queue(id, 1, 'error');
  await arrived(1);
  await queue(id, 1, 'recovered');
  await expect.poll(() => deliverer.sending).toBe(0);
  answer = () => OK;
  parts.clock.advance(MINUTE);
  await stored(['superseded', 'delivered']);
});

test('a thread is kept between the alerts of an incident, and a late alert says how late it is', async () => {
  const id = await channel('email');
  answer = () => ({ ...OK, thread: 'message 7' });
  await queue(id, 1, 'error');
  await stored(['delivered']);
  answer = () => DOWN;
  await queue(id, 1, 'recovered');
  await arrived(2);
  expect(sent[1]?.context.thread).toBe('message 7');
  expect(sent[1]?.alert.delayedMs).toBeUndefined();
  await expect.poll(() => deliverer.sending).toBe(0);
  answer = () => OK;
  parts.clock.advance(2 * MINUTE);
  await arrived(3);
  expect(sent[2]?.alert.delayedMs).toBeGreaterThanOrEqual(2 * MINUTE);
});

test('a test of an incident kind resolves itself', async () => {
  const id = await channel('incident_a');
  const { resolved } = await byHand().sendTest(id);
  expect(resolved?.result.outcome).toBe('delivered');
  expect(sent.map(({ alert }) => alert.status)).toEqual(['error', 'recovered']);
  expect(new Set(sent.map(({ alert }) => alert.incident)).size).toBe(1);
});

test('alerts that wait for two minutes raise the alarm, and people get one message', async () => {
  const id = await channel('webhook');
  await channel('email');
  const { clock } = parts;
  const overdue = overdueAlerts();
  overdue.start();
  answer = ({ kind }) => (kind === 'webhook' ? DOWN : OK);
  await queue(id, 1, 'error');
  await arrived(1);
  await expect.poll(() => deliverer.sending).toBe(0);
  await clock.advanceSettling(3 * MINUTE);
  await expect.poll(() => sent.filter(({ kind }) => kind === 'email').length).toBe(1);
  expect(overdue.channels).toMatchObject([{ notificationId: id, pairs: 1 }]);
  answer = () => OK;
  await clock.advanceSettling(10 * MINUTE);
  await expect.poll(() => overdue.channels).toEqual([]);
  expect(sent.filter(({ kind }) => kind === 'email')).toHaveLength(1);
  await overdue.stop();
});

test('channels that become overdue together are in one message', async () => {
  const ids = [await channel('incident_a')];
  for (let count = 0; count < 11; count += 1) ids.push(await channel('webhook'));
  await channel('email');
  const overdue = overdueAlerts();
  overdue.start();
  answer = ({ kind }) => (kind === 'email' ? OK : DOWN);
  for (const id of ids) await queue(id, 1, 'error');
  await arrived(12);
  await expect.poll(() => deliverer.sending).toBe(0);
  await parts.clock.advanceSettling(3 * MINUTE);
  const mails = () => sent.filter(({ kind }) => kind === 'email');
  await expect.poll(() => mails().length).toBe(1);
  await overdue.stop();
  expect(mails()).toHaveLength(1);
  expect(mails()[0]?.alert.notice).toMatchObject({
    title: 'Alerts do not reach 12 notification channels',
    lines: [
      expect.stringMatching(/^my incident_a, my webhook, .* and 2 more\.$/),
      expect.any(String),
      expect.any(String),
    ],
  });
});

test('a clock that is set forward by days does not shorten the schedule', async () => {
  const id = await channel('webhook');
  answer = () => DOWN;
  await queue(id, 1, 'error');
  await arrived(1);
  await expect.poll(() => deliverer.sending).toBe(0);
  parts.clock.stepWall(3 * 24 * 60 * MINUTE);
  for (let attempt = 2; attempt <= 10; attempt += 1) {
    parts.clock.advance(15 * MINUTE);
    await arrived(attempt);
    await expect.poll(() => deliverer.sending).toBe(0);
  }
  expect(await states()).toEqual(['pending']);
  expect(sent.at(-1)?.alert.delayedMs).toBe(9 * 15 * MINUTE);
});

/** Inserts the row of the incident that the alerts of {@link queue} are about, as the service does. */
async function openIncident(monitorId: number): Promise<void> {
  const { incident } = alertAbout(monitorId, 'error');
  await parts.store.transaction((tx) =>
    tx.runEach('INSERT INTO incidents (key, workspace_id, monitor_id, opened_at) VALUES (?, 1, ?, 0)', [
      [incident, monitorId],
    ]),
  );
}

test('an old SMS is sent even if a notice waits behind it', async () => {
  const id = await channel('sms');
  await openIncident(1);
  answer = () => DOWN;
  await queue(id, 1, 'error');
  await arrived(1);
  await expect.poll(() => deliverer.sending).toBe(0);
  const notice = { title: 'Data is back: Shop', lines: [], facts: [] };
  const alert = alertAbout(1, 'degraded', { incident: 'a notice', notice });
  await queueAlerts(parts.store, parts.clock, deliverer, [{ notificationId: id, monitorId: 1, alert }]);
  answer = () => OK;
  parts.clock.advance(120 * MINUTE);
  await stored(['delivered', 'delivered']);
});

test('a waiting reminder is left out if its alert is no longer open', async () => {
  const id = await channel('chat_a');
  const alert = alertAbout(1, 'error', { reminder: { number: 1, lastsMs: MINUTE } });
  await queueAlerts(parts.store, parts.clock, deliverer, [{ notificationId: id, monitorId: 1, alert }]);
  await stored(['superseded']);
  expect(sent).toEqual([]);
});

test('after a kill between a send and its record, the end of the incident is sent by SMS even hours later', async () => {
  const id = await channel('sms');
  await openIncident(1);
  const held = Promise.withResolvers<SendResult>();
  answer = () => held.promise;
  await queue(id, 1, 'error');
  await arrived(1);
  const stopped = deliverer.stop();
  parts.clock.advance(10_000);
  held.resolve({ outcome: 'retry', error: 'svc is stopping' });
  await stopped;
  parts.clock.advance(120 * MINUTE);
  deliverer = begin();
  await queue(id, 1, 'recovered');
  answer = () => OK;
  await deliverer.start();
  await stored(['superseded', 'delivered']);
  expect(sent.map(({ alert }) => alert.status)).toEqual(['error', 'recovered']);
});

test('the text of a failure is bounded', async () => {
  const id = await channel('webhook');
  answer = () => ({ outcome: 'permanent-message', error: 'ö'.repeat(4_000) });
  await queue(id, 1, 'error');
  await stored(['dead']);
  const [row] = await parts.store.read.selectFrom('deliveries').select('last_error').execute();
  expect(Buffer.byteLength(row?.last_error ?? '')).toBeLessThanOrEqual(1_024);
  expect(row?.last_error).toMatch(/^ö{500,}…$/);
});

test('all later attempts get the `kept` that a kind returned for its channel, also after a restart', async () => {
  const id = await channel('webhook');
  answer = () => ({ ...OK, kept: 'moved to 7' });
  await queue(id, 1, 'error');
  await stored(['delivered']);
  answer = () => OK;
  await queue(id, 2, 'error');
  await stored(['delivered', 'delivered']);
  await deliverer.stop();
  deliverer = begin();
  await deliverer.start();
  await queue(id, 3, 'error');
  await arrived(3);
  expect(sent.map(({ context }) => context.kept)).toEqual([null, 'moved to 7', 'moved to 7']);
});

test('deliveries that are replayed during a stop are sent before it, or after the next start', async () => {
  const id = await channel('webhook');
  answer = () => ({ outcome: 'permanent-message', error: 'no', statusCode: 400 });
  const all = Array.from({ length: 250 }, (_, index) => index + 1);
  for (const monitorId of all) await queue(id, monitorId, 'error');
  await stored(all.map(() => 'dead'));
  sent = [];
  answer = () => OK;
  const replayed = byHand().replayChannel(id);
  await deliverer.stop();
  expect(await replayed).toBe(all.length);
  const byThen = sent.length;
  await expect.poll(() => deliverer.sending).toBe(0);
  expect(sent).toHaveLength(byThen);
  deliverer = begin();
  await deliverer.start();
  await stored(all.map(() => 'delivered'));
  expect(new Set(monitors()).size).toBe(all.length);
  // Only messages that were in progress at the stop may come twice.
  expect(sent.length).toBeLessThanOrEqual(all.length + 8);
});

/* Tests receivers that are dead, shared or slow, and answers that come late, while many alerts wait. */

/** Creates this many webhooks at once. */
function webhooks(count: number): Promise<number[]> {
  const { configuration, workspaceId } = parts;
  return configuration.transaction({ workspaceId, actor: 'api' }, async (change) => {
    const ids: number[] = [];
    for (let made = 0; made < count; made += 1) {
      ids.push(await change.create('svc_notification', scriptedChannel('webhook')));
    }
    return ids;
  });
}

type ToQueue = { readonly notificationId: number; readonly monitorId: number; readonly status?: AlertStatus };

function queueMany(alerts: readonly ToQueue[]): Promise<void> {
  const { store, clock } = parts;
  return queueAlerts(
    store,
    clock,
    deliverer,
    alerts.map(({ notificationId, monitorId, status = 'error' }) => ({
      notificationId,
      monitorId,
      alert: alertAbout(monitorId, status),
    })),
  );
}

const counted = (state: 'delivered' | 'dead', count: number) =>
  expect.poll(async () => (await states()).filter((each) => each === state).length).toBe(count);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test('a dead address gets no request after its first answers, however many alerts wait', async () => {
  const id = await channel('webhook');
  answer = () => GONE;
  await queueMany(upTo(60).map((monitorId) => ({ notificationId: id, monitorId })));
  await counted('dead', 60);
  expect(sent.length).toBeLessThanOrEqual(2);
  await queueMany([{ notificationId: id, monitorId: 1 }]);
  await counted('dead', 61);
  expect(sent.length).toBeLessThanOrEqual(2);
});

test('replays to a stopped channel wait until the end of the pause that the receiver requests', async () => {
  const id = await channel('webhook');
  answer = () => GONE;
  await queueMany(upTo(10).map((monitorId) => ({ notificationId: id, monitorId })));
  await counted('dead', 10);
  sent = [];
  answer = () => ({ outcome: 'retry', error: 'slow down', statusCode: 429, retryAfterMs: 60_000 });
  expect(await byHand().replayChannel(id)).toBe(10);
  await arrived(1);
  await expect.poll(() => deliverer.sending).toBe(0);
  parts.clock.advance(59_000);
  expect(sent).toHaveLength(1);
  answer = () => OK;
  while (sent.length < 11) await parts.clock.advanceSettling(500);
  await counted('delivered', 10);
});

test('an answer to former settings does not stop a channel that was changed meanwhile', async () => {
  const id = await channel('webhook');
  const late = Promise.withResolvers<SendResult>();
  answer = () => late.promise;
  await queueMany([{ notificationId: id, monitorId: 1 }]);
  await expect.poll(() => sent.length).toBe(1);
  deliverer.channelChanged(id);
  answer = () => OK;
  late.resolve(GONE);
  await expect.poll(() => deliverer.sending).toBe(0);
  await parts.clock.advanceSettling(10_000);
  await counted('delivered', 1);
  const channels = await parts.store.read.selectFrom('notifications').select('stopped_at').execute();
  expect(channels).toEqual([{ stopped_at: null }]);
});

test.each<[string, (id: number) => Promise<unknown>]>([
  ['an alert', (id) => queueMany([{ notificationId: id, monitorId: 1 }])],
  ['a test', (id) => deliverer.sendTest(id, alertAbout(0, 'error'), null)],
])(
  'the answer to %s under former settings says nothing about a channel that was changed meanwhile',
  async (_, send) => {
    const id = await channel('webhook');
    for (const result of [DOWN, GONE]) {
      const late = Promise.withResolvers<SendResult>();
      const count = sent.length;
      answer = () => late.promise;
      const sending = send(id);
      await arrived(count + 1);
      deliverer.channelChanged(id);
      answer = () => new Promise(() => {});
      late.resolve(result);
      await sending;
      await expect
        .poll(() => parts.store.read.selectFrom('delivery_attempts').select('at').execute())
        .toHaveLength(count + 1);
      const columns = ['state', 'state_reason', 'stopped_at'] as const;
      const rows = await parts.store.read.selectFrom('notifications').select(columns).execute();
      expect(rows).toEqual([{ state: 'ok', state_reason: null, stopped_at: null }]);
    }
  },
);

test('a younger alert that comes during an attempt does not wait for the end of the back-off after it', async () => {
  const id = await channel('webhook');
  const down: SendResult = { outcome: 'retry', error: 'down', statusCode: 503 };
  answer = () => down;
  await queueMany([{ notificationId: id, monitorId: 1 }]);
  for (let attempt = 1; attempt <= 11; attempt += 1) {
    await expect.poll(() => sent.length).toBe(attempt);
    await expect.poll(() => deliverer.sending).toBe(0);
    if (attempt === 11) break;
    parts.clock.advance(75 * 60_000);
  }
  const late = Promise.withResolvers<SendResult>();
  answer = () => late.promise;
  parts.clock.advance(75 * 60_000);
  await expect.poll(() => sent.length).toBe(12);
  parts.clock.advance(1);
  await queueMany([{ notificationId: id, monitorId: 1, status: 'degraded' }]);
  answer = () => OK;
  late.resolve(down);
  await counted('delivered', 2);
});

test('the channels of a kind share its rate, and other kinds do not wait', async () => {
  const chats = await Promise.all(upTo(10).map(() => channel('messenger_a')));
  const other = await channel('webhook');
  const told = upTo(50).map((monitorId) => ({
    notificationId: chats[monitorId % chats.length] ?? 0,
    monitorId,
  }));
  await queueMany([...told, { notificationId: other, monitorId: 51 }]);
  const ofKind = () => sent.filter(({ kind }) => kind === 'messenger_a');
  // The kind accepts 30 messages at once, and then 30 a second.
  await expect.poll(() => ofKind().length).toBeGreaterThanOrEqual(29);
  await parts.clock.advanceSettling(1);
  await expect.poll(() => ofKind().length).toBe(30);
  await expect.poll(() => sent.length).toBe(31);
  await counted('delivered', 31);
  for (let more = 1; more <= 20; more += 1) {
    await parts.clock.advanceSettling(34);
    await expect.poll(() => ofKind().length).toBe(30 + more);
  }
  await counted('delivered', 51);
});

test('hundreds of hanging channels leave places for a channel of their workspace that answers', async () => {
  const hanging = await webhooks(IN_PROGRESS_IN_ALL / 2 - 1);
  const good = await channel('email');
  const held = Promise.withResolvers<SendResult>();
  answer = ({ kind }) => (kind === 'email' ? OK : held.promise);
  // Each of these channels has one message in progress, however many alerts wait.
  await queueMany(
    hanging.flatMap((notificationId) => [1, 2].map((monitorId) => ({ notificationId, monitorId }))),
  );
  await expect.poll(() => sent.length).toBe(hanging.length);
  await queueMany([{ notificationId: good, monitorId: 1 }]);
  await counted('delivered', 1);
  held.resolve(OK);
});

test('a workspace with too many hanging channels leaves places for others, and goes on when a place is free', async () => {
  const most = IN_PROGRESS_IN_ALL / 2;
  const hanging = await webhooks(most + 4);
  const other = await channel('email');
  await parts.store.transaction(async ({ db }) => {
    await db.insertInto('workspaces').values({ id: 2, name: 'other', created_at: 0 }).execute();
    await db.updateTable('notifications').set({ workspace_id: 2 }).where('id', '=', other).execute();
  });
  const held: ((result: SendResult) => void)[] = [];
  answer = ({ kind }) => (kind === 'email' ? OK : new Promise<SendResult>((resolve) => held.push(resolve)));
  await queueMany(hanging.map((notificationId) => ({ notificationId, monitorId: 1 })));
  await expect.poll(() => held.length).toBe(most);
  await queueMany([{ notificationId: other, monitorId: 1 }]);
  await counted('delivered', 1);
  expect(held).toHaveLength(most);
  for (const release of held.splice(0)) release(OK);
  await expect.poll(() => held.length).toBe(4);
  for (const release of held.splice(0)) release(OK);
  await counted('delivered', most + 5);
});
