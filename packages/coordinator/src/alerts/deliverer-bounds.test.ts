import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConfiguredStore, configuredStore } from '../../../../test/support/configured-store.ts';
import { queueAlerts } from '../../../../test/support/coordinator/queue-alerts.ts';
import {
  alertAbout,
  createScriptedChannel,
  type ScriptedKind,
  type Sent,
  scriptedChannel,
  scriptedDeliverer,
} from '../../../../test/support/coordinator/scripted-deliverer.ts';
import type { SendResult } from './channel.ts';
import type { Deliverer } from './deliverer.ts';
import { IN_PROGRESS_IN_ALL } from './sending-limits.ts';

/* How much is sent to receivers that are dead, shared or slow, when many alerts wait. */

const OK: SendResult = { outcome: 'delivered', statusCode: 200 };
const GONE: SendResult = { outcome: 'permanent-channel', error: 'gone', statusCode: 404 };

let parts: ConfiguredStore;
let deliverer: Deliverer;
let sent: Sent[];
let answer: (sent: Sent) => SendResult | Promise<SendResult>;

beforeEach(async () => {
  parts = await configuredStore();
  sent = [];
  answer = () => OK;
  deliverer = scriptedDeliverer(parts, (one) => {
    sent.push(one);
    return answer(one);
  });
  await deliverer.start();
});

afterEach(async () => {
  await deliverer.stop();
  await parts.dispose();
});

const channel = (kind: ScriptedKind) => createScriptedChannel(parts, kind);

/** Creates so many webhooks at once. */
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

type Told = { readonly notificationId: number; readonly monitorId: number; readonly status?: AlertStatus };

function queue(alerts: readonly Told[]): Promise<void> {
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

const states = async () => {
  const rows = await parts.store.read.selectFrom('deliveries').select('state').execute();
  return Map.groupBy(rows, ({ state }) => state);
};
const stored = (state: 'delivered' | 'dead', count: number) =>
  expect.poll(async () => (await states()).get(state)?.length ?? 0).toBe(count);
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test('a dead address gets no request after its first answers, whatever waits', async () => {
  const id = await channel('webhook');
  answer = () => GONE;
  await queue(upTo(60).map((monitorId) => ({ notificationId: id, monitorId })));
  await stored('dead', 60);
  expect(sent.length).toBeLessThanOrEqual(2);
  await queue([{ notificationId: id, monitorId: 1 }]);
  await stored('dead', 61);
  expect(sent.length).toBeLessThanOrEqual(2);
});

test('an answer to the former settings does not stop a channel that was changed meanwhile', async () => {
  const id = await channel('webhook');
  const late = Promise.withResolvers<SendResult>();
  answer = () => late.promise;
  await queue([{ notificationId: id, monitorId: 1 }]);
  await expect.poll(() => sent.length).toBe(1);
  deliverer.channelChanged(id);
  answer = () => OK;
  late.resolve(GONE);
  await expect.poll(() => deliverer.sending).toBe(0);
  await parts.clock.advanceSettling(10_000);
  await stored('delivered', 1);
  const channels = await parts.store.read.selectFrom('notifications').select('stopped_at').execute();
  expect(channels).toEqual([{ stopped_at: null }]);
});

test('a younger alert that comes during an attempt is not held by a long wait after it', async () => {
  const id = await channel('webhook');
  const down: SendResult = { outcome: 'retry', error: 'down', statusCode: 503 };
  answer = () => down;
  await queue([{ notificationId: id, monitorId: 1 }]);
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
  await queue([{ notificationId: id, monitorId: 1, status: 'degraded' }]);
  answer = () => OK;
  late.resolve(down);
  await stored('delivered', 2);
});

test('the channels of a kind share its rate, and other kinds do not wait', async () => {
  const chats = await Promise.all(upTo(10).map(() => channel('messenger_a')));
  const other = await channel('webhook');
  const told = upTo(50).map((monitorId) => ({
    notificationId: chats[monitorId % chats.length] ?? 0,
    monitorId,
  }));
  await queue([...told, { notificationId: other, monitorId: 51 }]);
  const ofKind = () => sent.filter(({ kind }) => kind === 'messenger_a');
  // The kind takes 30 at once, and then 30 a second.
  await expect.poll(() => ofKind().length).toBeGreaterThanOrEqual(29);
  await parts.clock.advanceSettling(1);
  await expect.poll(() => ofKind().length).toBe(30);
  await expect.poll(() => sent.length).toBe(31);
  await stored('delivered', 31);
  for (let more = 1; more <= 20; more += 1) {
    await parts.clock.advanceSettling(34);
    await expect.poll(() => ofKind().length).toBe(30 + more);
  }
  await stored('delivered', 51);
});

test('hundreds of channels that hang leave places for one of their workspace that answers', async () => {
  const hanging = await webhooks(IN_PROGRESS_IN_ALL / 2 - 1);
  const good = await channel('email');
  const held = Promise.withResolvers<SendResult>();
  answer = ({ kind }) => (kind === 'email' ? OK : held.promise);
  // Of each of them one message is in progress, however many wait.
  await queue(
    hanging.flatMap((notificationId) => [1, 2].map((monitorId) => ({ notificationId, monitorId }))),
  );
  await expect.poll(() => sent.length).toBe(hanging.length);
  await queue([{ notificationId: good, monitorId: 1 }]);
  await stored('delivered', 1);
  held.resolve(OK);
});

test('a workspace with too many channels that hang leaves places for others, and goes on when one is free', async () => {
  const most = IN_PROGRESS_IN_ALL / 2;
  const hanging = await webhooks(most + 4);
  const other = await channel('email');
  await parts.store.transaction(async ({ db }) => {
    await db.insertInto('workspaces').values({ id: 2, name: 'other', created_at: 0 }).execute();
    await db.updateTable('notifications').set({ workspace_id: 2 }).where('id', '=', other).execute();
  });
  const held: ((result: SendResult) => void)[] = [];
  answer = ({ kind }) => (kind === 'email' ? OK : new Promise<SendResult>((resolve) => held.push(resolve)));
  await queue(hanging.map((notificationId) => ({ notificationId, monitorId: 1 })));
  await expect.poll(() => held.length).toBe(most);
  await queue([{ notificationId: other, monitorId: 1 }]);
  await stored('delivered', 1);
  expect(held).toHaveLength(most);
  for (const release of held.splice(0)) release(OK);
  await expect.poll(() => held.length).toBe(4);
  for (const release of held.splice(0)) release(OK);
  await stored('delivered', most + 5);
});
