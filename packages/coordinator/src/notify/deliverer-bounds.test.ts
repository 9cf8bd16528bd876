import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ConfiguredStore, configuredStore } from '../../../../test/support/configured-store.ts';
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
  await expect.poll(() => deliverer.gauges.sending).toBe(0);
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
    await expect.poll(() => deliverer.gauges.sending).toBe(0);
    if (attempt === 11) break;
    parts.clock.advance(75 * 60_000);
  }
  const late = Promise.withResolvers<SendResult>();
  answer = () => late.promise;
  parts.clock.advance(75 * 60_000);
  await expect.poll(() => sent.length).toBe(12);
  await queue([{ notificationId: id, monitorId: 1, status: 'degraded' }]);
  answer = () => OK;
  late.resolve(down);
  await expect.poll(() => deliverer.gauges.sending).toBe(0);
  parts.clock.advance(30_000);
  await stored('delivered', 2);
});

test('the channels of a kind share its rate, the oldest alert first, and other kinds do not wait', async () => {
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
  const last = ofKind().slice(30);
  const waited = last.map(({ alert }) => alert.monitor.id);
  expect(waited).toEqual([...waited].sort((one, two) => one - two));
});
