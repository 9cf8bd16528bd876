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
  scriptedDeliverer,
} from '../../../../test/support/coordinator/scripted-deliverer.ts';
import type { SendResult } from './channel.ts';
import type { Deliverer } from './deliverer.ts';
import { createManualDeliveries } from './manual-deliveries.ts';
import { OverdueAlerts } from './overdue.ts';

/* The rules of delivery, on a clock that stands still until told, with receivers that answer as scripted. */

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
  return new OverdueAlerts({ store, secrets, clock, log: silentLog, publicUrl, deliverer });
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

test('a success wakes all lanes of its channel, each once until its own wait is over', async () => {
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

test('a receiver that takes alerts later holds its channel, and gets first what it has not refused', async () => {
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

test('a younger alert of the lane does not wait for the end of a long back-off', async () => {
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

test('a failure of our own is no attempt, and is tried again soon', async () => {
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

test('a dead address stops its channel, people hear of it once, and a test takes it up', async () => {
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

test('a doubt about an address becomes certain when it comes again after minutes', async () => {
  const id = await channel('webhook');
  answer = () => ({ outcome: 'retry', error: 'forbidden', statusCode: 403, mayBeDead: true });
  await queue(id, 1, 'error');
  await arrived(1);
  await expect.poll(() => deliverer.sending).toBe(0);
  expect(await states()).toEqual(['pending']);
  parts.clock.advance(5 * MINUTE);
  await stored(['dead']);
});

test('an incident kind gets the newest state, and nothing of an incident that it never heard of', async () => {
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

test('what may have arrived without an answer is ended', async () => {
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

test('alerts that wait for two minutes raise the alarm, and people hear of it once', async () => {
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
  expect(overdue.channels).toMatchObject([{ notificationId: id, lanes: 1 }]);
  answer = () => OK;
  await clock.advanceSettling(10 * MINUTE);
  await expect.poll(() => overdue.channels).toEqual([]);
  expect(sent.filter(({ kind }) => kind === 'email')).toHaveLength(1);
  await overdue.stop();
});

test('channels that become overdue together are told of in one message', async () => {
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

test('a clock that is set forward by days takes nothing from the schedule', async () => {
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

test('after a kill between the send and its record, an SMS tells the end of an incident hours later', async () => {
  const id = await channel('sms');
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

test('what is said of a failure is bounded', async () => {
  const id = await channel('webhook');
  answer = () => ({ outcome: 'permanent-message', error: 'ö'.repeat(4_000) });
  await queue(id, 1, 'error');
  await stored(['dead']);
  const [row] = await parts.store.read.selectFrom('deliveries').select('last_error').execute();
  expect(Buffer.byteLength(row?.last_error ?? '')).toBeLessThanOrEqual(1_024);
  expect(row?.last_error).toMatch(/^ö{500,}…$/);
});

test('what a kind keeps of its channel comes with all later alerts, also after a restart', async () => {
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

test('what is sent again by hand during a stop is sent by then, or after the next start', async () => {
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
  // At most what was under way at the stop comes twice.
  expect(sent.length).toBeLessThanOrEqual(all.length + 8);
});
