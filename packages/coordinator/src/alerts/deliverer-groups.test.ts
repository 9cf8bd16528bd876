import type { Alert, AlertStatus } from '@svc/shared/channels/alert.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConfiguredStore, configuredStore } from '../../../../test/support/configured-store.ts';
import { queueAlerts } from '../../../../test/support/coordinator/queue-alerts.ts';
import {
  alertAbout,
  createScriptedChannel,
  type ScriptedKind,
  scriptedChannel,
  scriptedDeliverer,
} from '../../../../test/support/coordinator/scripted-deliverer.ts';
import { COLLECT_MS, TOLD_ALONE } from '../verdict/grouping.ts';
import type { SendResult } from './channel.ts';
import type { Deliverer } from './deliverer.ts';

/* Tests alerts about many monitors that change together, on a fake clock, with scripted receivers. */

const OK: SendResult = { outcome: 'delivered', statusCode: 200, thread: 'thread' };
const DOWN: SendResult = { outcome: 'retry', error: 'down', statusCode: 503 };

let parts: ConfiguredStore;
let deliverer: Deliverer;
let sent: { kind: string; alert: Alert; deliveryId: string }[];
/** An answer that does not arrive before {@link killed}. */
let unanswered: PromiseWithResolvers<SendResult>;
let answer: (alert: Alert) => SendResult | Promise<SendResult>;

beforeEach(async () => {
  parts = await configuredStore();
  sent = [];
  unanswered = Promise.withResolvers();
  answer = () => OK;
  deliverer = begin();
  await deliverer.start();
});

afterEach(async () => {
  await deliverer.stop();
  await parts.dispose();
});

function begin(): Deliverer {
  return scriptedDeliverer(parts, ({ kind, alert, context: { deliveryId } }) => {
    sent.push({ kind, alert, deliveryId });
    return answer(alert);
  });
}

const channel = (kind: ScriptedKind, group_alerts = true) =>
  createScriptedChannel(parts, kind, { name: kind, group_alerts });

async function setGrouping(id: number, group_alerts: boolean): Promise<void> {
  const { configuration, workspaceId } = parts;
  const attributes = scriptedChannel('email', { name: 'email', group_alerts });
  await configuration.transaction({ workspaceId, actor: 'api' }, (change) =>
    change.update('svc_notification', id, attributes),
  );
  deliverer.channelChanged(id);
}

const ids = (count: number, from = 1) => Array.from({ length: count }, (_, index) => from + index);

function queue(notificationId: number, monitorIds: readonly number[], status: AlertStatus): Promise<void> {
  const alerts = monitorIds.map((id) => ({
    notificationId,
    monitorId: id,
    alert: alertAbout(id, status, status === 'error' ? { errorMessage: 'refused' } : {}),
  }));
  return queueAlerts(parts.store, parts.clock, deliverer, alerts);
}

const groups = () => sent.flatMap(({ alert }) => (alert.group === undefined ? [] : [alert.group]));
const alone = () => sent.flatMap(({ alert }) => (alert.group === undefined ? [alert.monitor.id] : []));
/** Number of deliveries in a state. */
const countOf = async (state: 'pending' | 'delivered' | 'dead' | 'superseded') =>
  (await parts.store.read.selectFrom('deliveries').select('id').where('state', '=', state).execute()).length;
const inOrder = (one: number, other: number) => one - other;
const delivered = (count: number) => expect.poll(() => countOf('delivered')).toBe(count);
const settled = () => expect.poll(() => deliverer.sending).toBe(0);

test('the first alerts are sent at once, the others as one message with the facts that they share', async () => {
  const id = await channel('email');
  await queue(id, ids(100), 'error');
  await delivered(TOLD_ALONE);
  await settled();
  expect(alone()).toEqual(ids(20));
  expect(groups()).toEqual([]);
  parts.clock.advance(COLLECT_MS);
  await delivered(100);
  expect(sent).toHaveLength(21);
  expect(groups()).toMatchObject([
    {
      counts: { error: 80, degraded: 0, recovered: 0 },
      shared: { host: 'shop.example', errorMessage: 'refused' },
    },
  ]);
  expect(groups()[0]?.monitors.map((monitor) => monitor.id)).toEqual(ids(80, 21));
  expect(await deliverer.waitingChannels()).toEqual([]);
});

test('each delivery of a group has an attempt, and the recoveries come as a group too', async () => {
  const id = await channel('email');
  await queue(id, ids(60), 'error');
  await delivered(TOLD_ALONE);
  await settled();
  parts.clock.advance(COLLECT_MS);
  await delivered(60);
  const { length } = await parts.store.read.selectFrom('delivery_attempts').select('delivery_id').execute();
  expect(length).toBe(60);
  parts.clock.advance(120_000);
  sent = [];
  await queue(id, ids(60), 'recovered');
  await delivered(60 + TOLD_ALONE);
  await settled();
  parts.clock.advance(COLLECT_MS);
  await delivered(120);
  expect(alone()).toEqual(ids(20));
  expect(groups()).toMatchObject([{ counts: { error: 0, degraded: 0, recovered: 40 } }]);
  expect(await countOf('superseded')).toBe(0);
});

test.each<[ScriptedKind, boolean]>([
  ['webhook', true],
  ['incident_a', true],
  ['email', false],
])('%s with group_alerts %s gets each alert at once', async (kind, isGrouping) => {
  const id = await channel(kind, isGrouping);
  // The rate of each kind allows this number of messages at once.
  await queue(id, ids(50), 'error');
  await delivered(50);
  expect(sent).toHaveLength(50);
  expect(groups()).toEqual([]);
});

test('the channels of a workspace count together, and each change counts once', async () => {
  const [one, other] = [await channel('email'), await channel('email')];
  await queue(one, ids(20), 'error');
  await queue(other, ids(20), 'error');
  await delivered(40);
  await queue(other, ids(2, 21), 'error');
  await settled();
  expect(sent).toHaveLength(40);
  parts.clock.advance(COLLECT_MS);
  await delivered(42);
  expect(groups()).toMatchObject([{ counts: { error: 2 } }]);
});

test('a single alert after the first ones is sent alone, after the time to collect', async () => {
  const id = await channel('email');
  await queue(id, ids(21), 'error');
  await delivered(TOLD_ALONE);
  await settled();
  parts.clock.advance(COLLECT_MS);
  await delivered(21);
  expect(alone()).toEqual(ids(21));
  parts.clock.advance(40_000);
  await queue(id, [22], 'error');
  await delivered(22);
});

test('while a receiver is down and when it works again, the waiting alerts come as one message', async () => {
  const id = await channel('email');
  answer = () => DOWN;
  await queue(id, ids(50), 'error');
  await settled();
  const before = sent.length;
  parts.clock.advance(COLLECT_MS);
  await expect.poll(() => sent.length).toBeGreaterThan(before);
  await settled();
  answer = () => OK;
  for (let left = 60; left > 0 && (await countOf('delivered')) < 50; left -= 1) {
    await parts.clock.advanceSettling(1_000);
  }
  await delivered(50);
  const messages = sent.length;
  // Only the first attempts of the first alerts may be messages
  // of their own. All other alerts are in a few groups.
  expect(messages).toBeLessThanOrEqual(TOLD_ALONE + 10);
  expect(
    new Set([...alone(), ...groups().flatMap(({ monitors }) => monitors.map((each) => each.id))]),
  ).toEqual(new Set(ids(50)));
});

test('a repeated message has the same id, and a message with further alerts has another id', async () => {
  const id = await channel('email');
  // The receiver accepts each message, but its answers get
  // lost. It drops a message whose id it has seen before.
  answer = () => ({ outcome: 'retry', error: 'no answer' });
  await queue(id, ids(30), 'error');
  for (let left = 600; left > 0 && groups().length < 2; left -= 1) await parts.clock.advanceSettling(1_000);
  await queue(id, ids(30, 31), 'error');
  for (let left = 600; left > 0 && groups().length < 5; left -= 1) await parts.clock.advanceSettling(1_000);
  const toldOf = ({ alert: { group, monitor } }: (typeof sent)[number]) =>
    (group?.monitors ?? [monitor]).map((each) => each.id).join();
  expect(groups().length).toBeGreaterThanOrEqual(5);
  const tellings = new Set(sent.map((each) => `${each.deliveryId}: ${toldOf(each)}`));
  expect(new Set(sent.map((each) => each.deliveryId)).size).toBe(tellings.size);
  expect(new Set(sent.map(toldOf)).size).toBe(tellings.size);
});

test('the rest of a group has another id after some of its alerts were sent alone', async () => {
  const id = await channel('email');
  const isLost = (alert: Alert) => alert.group !== undefined || alert.monitor.id > 25;
  answer = (alert) => (isLost(alert) ? { outcome: 'retry', error: 'no answer' } : OK);
  await queue(id, ids(30), 'error');
  await delivered(TOLD_ALONE);
  await settled();
  parts.clock.advance(COLLECT_MS);
  await expect.poll(() => groups().length).toBe(1);
  await settled();
  await setGrouping(id, false);
  await delivered(25);
  await expect.poll(() => new Set(alone())).toEqual(new Set(ids(30)));
  await settled();
  await setGrouping(id, true);
  await expect.poll(() => groups().length).toBeGreaterThan(1);
  const [whole, rest] = sent.filter(({ alert }) => alert.group !== undefined);
  expect(rest?.alert.group?.monitors.map((monitor) => monitor.id)).toEqual(ids(5, 26));
  expect(rest?.deliveryId).not.toBe(whole?.deliveryId);
});

test('the alerts of a group that is refused for its content are sent one by one', async () => {
  const id = await channel('email');
  answer = (alert) =>
    alert.group !== undefined || alert.monitor.id === 25
      ? { outcome: 'permanent-message', error: 'too strange', statusCode: 400 }
      : OK;
  await queue(id, ids(30), 'error');
  await delivered(TOLD_ALONE);
  await settled();
  parts.clock.advance(COLLECT_MS);
  await expect.poll(() => groups().length).toBe(1);
  for (let left = 30; left > 0 && (await countOf('pending')) > 0; left -= 1) {
    await parts.clock.advanceSettling(1_000);
  }
  await delivered(29);
  expect(await countOf('dead')).toBe(1);
  expect(groups()).toHaveLength(1);
});

/** Ends the deliverer before it records its attempts in progress, and then starts another deliverer. */
async function killed(): Promise<void> {
  const stopped = deliverer.stop();
  parts.clock.advance(10_000);
  unanswered.resolve({ outcome: 'retry', error: 'svc is stopping' });
  await stopped;
  deliverer = begin();
  await deliverer.start();
}

async function allDelivered(count: number): Promise<void> {
  for (let left = 60; left > 0 && (await countOf('pending')) > 0; left -= 1) {
    await parts.clock.advanceSettling(1_000);
  }
  await delivered(count);
}

test('a group that was sent but not recorded before a crash is repeated with the same members and id', async () => {
  const id = await channel('email');
  answer = ({ group }) => (group === undefined ? OK : unanswered.promise);
  await queue(id, ids(50), 'error');
  await delivered(TOLD_ALONE);
  await settled();
  parts.clock.advance(COLLECT_MS);
  await expect.poll(() => groups().length).toBe(1);
  // More monitors change before the kill: they must not be added to the message that was sent.
  await queue(id, ids(30, 51), 'error');
  answer = () => OK;
  await killed();
  await allDelivered(80);
  const sentGroups = sent.filter(({ alert }) => alert.group !== undefined);
  const [before, again, ...others] = sentGroups;
  expect(again?.deliveryId).toBe(before?.deliveryId);
  expect(again?.alert.group).toEqual(before?.alert.group);
  expect(others.map(({ deliveryId }) => deliveryId)).not.toContain(before?.deliveryId);
  expect(
    [...alone(), ...others.flatMap(({ alert }) => alert.group?.monitors.map((each) => each.id) ?? [])].sort(
      inOrder,
    ),
  ).toEqual([...ids(20), ...ids(30, 51)].sort(inOrder));
});

test('the alerts that wait when the process is killed come as one message, and none is lost', async () => {
  const id = await channel('email');
  await queue(id, ids(80), 'error');
  await delivered(TOLD_ALONE);
  await settled();
  await killed();
  await allDelivered(80);
  expect(alone()).toEqual(ids(20));
  expect(groups()).toMatchObject([{ counts: { error: 60 } }]);
});

test('a group that the receiver will take later is formed again, with the alerts that came meanwhile', async () => {
  const id = await channel('email');
  answer = ({ group }) => (group === undefined ? OK : DOWN);
  await queue(id, ids(40), 'error');
  await delivered(TOLD_ALONE);
  await settled();
  parts.clock.advance(COLLECT_MS);
  await expect.poll(() => groups().length).toBe(1);
  await settled();
  await queue(id, ids(10, 41), 'error');
  answer = () => OK;
  await allDelivered(50);
  const [before, ...after] = sent.filter(({ alert }) => alert.group !== undefined);
  expect(after.map(({ alert }) => alert.group?.counts.error)).toEqual([30]);
  expect(after[0]?.deliveryId).not.toBe(before?.deliveryId);
});

test('both alerts of a monitor that recovers while its error is collected are sent, in order', async () => {
  const id = await channel('email');
  await queue(id, ids(25), 'error');
  await queue(id, [25], 'recovered');
  await delivered(TOLD_ALONE);
  await settled();
  parts.clock.advance(COLLECT_MS);
  await expect.poll(() => groups().length).toBeGreaterThan(0);
  for (let left = 10; left > 0 && (await countOf('pending')) > 0; left -= 1) {
    await parts.clock.advanceSettling(1_000);
  }
  await delivered(26);
  const told = sent.flatMap(
    ({ alert }) => alert.group?.monitors ?? [{ ...alert.monitor, status: alert.status }],
  );
  expect(told.filter((each) => each.id === 25).map(({ status }) => status)).toEqual(['error', 'recovered']);
});

test('notices about many monitors come as one message, like alerts, and their ends too', async () => {
  const id = await channel('email');
  const notices = (status: AlertStatus) =>
    ids(100).map((monitorId) => ({
      notificationId: id,
      monitorId,
      alert: alertAbout(monitorId, status, {
        notice: { title: `No data: Shop ${monitorId}`, lines: [], facts: [] },
      }),
    }));
  await queueAlerts(parts.store, parts.clock, deliverer, notices('degraded'));
  await delivered(TOLD_ALONE);
  await settled();
  parts.clock.advance(COLLECT_MS);
  await delivered(100);
  expect(groups()).toMatchObject([{ counts: { error: 0, degraded: 0, recovered: 0, notices: 80 } }]);
  parts.clock.advance(120_000);
  await queueAlerts(parts.store, parts.clock, deliverer, notices('recovered'));
  await delivered(100 + TOLD_ALONE);
  await settled();
  parts.clock.advance(COLLECT_MS);
  await delivered(200);
  expect(groups()).toHaveLength(2);
});

/** Queues a reminder about each monitor. The channel has the alert that the reminder repeats. */
async function queueReminders(notificationId: number, monitorIds: readonly number[]): Promise<void> {
  const alerts = monitorIds.map((monitorId) => {
    const alert = alertAbout(monitorId, 'error', { reminder: { number: 1, lastsMs: 3_600_000 } });
    return { notificationId, monitorId, alert };
  });
  const incidents = alerts.map(({ monitorId, alert }) => [alert.incident, monitorId]);
  const links = alerts.map(({ monitorId, alert }) => [monitorId, notificationId, alert.incident]);
  await parts.store.transaction(async (tx) => {
    await tx.runEach(
      `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at, updated_at)
       VALUES (?, ${parts.workspaceId}, 'http', 'Shop', 1, '{}', 0, 0, 0)`,
      monitorIds.map((monitorId) => [monitorId]),
    );
    await tx.runEach(
      `INSERT INTO incidents (key, workspace_id, monitor_id, opened_at) VALUES (?, ${parts.workspaceId}, ?, 0)`,
      incidents,
    );
    await tx.runEach(
      "INSERT INTO links (monitor_id, notification_id, incident, announced, version) VALUES (?, ?, ?, 'error', 1)",
      links,
    );
  });
  await queueAlerts(parts.store, parts.clock, deliverer, alerts);
}

test.each([
  ['before', 1],
  ['after', -1],
] as const)('an alert queued %s many reminders is sent at once, without them', async (_, order) => {
  const id = await channel('email');
  const queued = [() => queue(id, [999], 'error'), () => queueReminders(id, ids(60))];
  for (const each of order === 1 ? queued : queued.reverse()) await each();
  await delivered(61);
  expect(alone().sort(inOrder)).toEqual([...ids(20), 999]);
  expect(groups()).toMatchObject([{ counts: { error: 40 } }]);
});
