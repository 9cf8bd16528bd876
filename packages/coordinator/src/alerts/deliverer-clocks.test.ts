import type { AlertStatus } from '@svc/shared/channels/alert.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type ConfiguredStore,
  configuredStore,
  silentLog,
} from '../../../../test/support/configured-store.ts';
import { queueAlerts } from '../../../../test/support/coordinator/queue-alerts.ts';
import {
  alertAbout,
  createScriptedChannel,
  scriptedDeliverer,
} from '../../../../test/support/coordinator/scripted-deliverer.ts';
import { TEST_IDS } from '../../../../test/support/test-ids.ts';
import type { SendResult } from './channel.ts';
import type { Deliverer } from './deliverer.ts';
import { createManualDeliveries } from './manual-deliveries.ts';
import { OverdueAlerts } from './overdue.ts';

/*
 * The wall clock is moved by an hour while deliveries wait. If the deliverer is running, the move changes
 * neither when nor how often it sends. If not, no wait becomes longer than the schedule allows.
 */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const OK: SendResult = { outcome: 'delivered', statusCode: 200 };
const DOWN: SendResult = { outcome: 'retry', error: 'down', statusCode: 503 };
const BAD: SendResult = { outcome: 'permanent-message', error: 'bad', statusCode: 400 };
/** Number of attempts in the first ten minutes, with the shortest waits. */
const IN_TEN_MINUTES = 8;
/**
 * A number of messages that no schedule allows. From this
 * number on, a message is answered only when the test ends.
 */
const FAR_TOO_MANY = 40;

let parts: ConfiguredStore;
let deliverer: Deliverer;
let channel: number;
/** The monitor of each message, in the order in which the messages were sent. */
let sent: number[];
let end: PromiseWithResolvers<SendResult>;
let answer: (monitorId: number) => SendResult | Promise<SendResult>;

beforeEach(async () => {
  parts = await configuredStore();
  sent = [];
  end = Promise.withResolvers();
  answer = () => DOWN;
  channel = await createScriptedChannel(parts, 'webhook');
  await begin();
});

afterEach(async () => {
  const stopped = deliverer.stop();
  end.resolve(DOWN);
  await stopped;
  await parts.dispose();
});

async function begin(): Promise<void> {
  deliverer = scriptedDeliverer(parts, ({ alert }) => {
    sent.push(alert.monitor.id);
    return sent.length < FAR_TOO_MANY ? answer(alert.monitor.id) : end.promise;
  });
  await deliverer.start();
}

function queue(monitorId: number, status: AlertStatus = 'error'): Promise<void> {
  const alerts = [{ notificationId: channel, monitorId, alert: alertAbout(monitorId, status) }];
  return queueAlerts(parts.store, parts.clock, deliverer, alerts);
}

const states = async () =>
  (await parts.store.read.selectFrom('deliveries').select('state').orderBy('id').execute()).map(
    ({ state }) => state,
  );
const isQuiet = () => expect.poll(() => deliverer.sending).toBe(0);

/**
 * Lets time pass in steps of a second, and waits after each step until nothing
 * is in progress. Ends earlier if {@link FAR_TOO_MANY} messages are sent.
 */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0 && sent.length < FAR_TOO_MANY; left -= 1_000) {
    await parts.clock.advanceSettling(1_000);
    await expect.poll(() => deliverer.sending === 0 || sent.length === FAR_TOO_MANY).toBe(true);
  }
}

describe.each([
  ['forward', HOUR],
  ['back', -HOUR],
])('the clock is set %s', (_, byMs) => {
  test('a delivery that waits is tried by its schedule', async () => {
    await queue(1);
    await isQuiet();
    parts.clock.stepWall(byMs);
    await pass(10 * MINUTE);
    expect(sent).toHaveLength(IN_TEN_MINUTES);
  });

  test('Retry-After holds the channel for as long as the receiver asked for', async () => {
    answer = () => ({ outcome: 'retry', error: 'later', statusCode: 429, retryAfterMs: 10 * MINUTE });
    await queue(1);
    await isQuiet();
    parts.clock.stepWall(byMs);
    await queue(2);
    await pass(9 * MINUTE);
    expect(sent).toEqual([1]);
    answer = () => OK;
    await pass(2 * MINUTE);
    expect(await states()).toEqual(['delivered', 'delivered']);
  });

  test('a replayed delivery goes on with its schedule', async () => {
    answer = () => BAD;
    await queue(1);
    await isQuiet();
    answer = () => DOWN;
    const { store, clock } = parts;
    const byHand = createManualDeliveries({ store, clock, deliverer, publicUrl: 'http://svc.example' });
    const [row] = await store.read.selectFrom('deliveries').select('id').execute();
    sent = [];
    await byHand.replayDelivery(row?.id ?? 0);
    await isQuiet();
    clock.stepWall(byMs);
    await pass(10 * MINUTE);
    expect(sent).toHaveLength(IN_TEN_MINUTES);
  });

  test('a younger delivery waits no longer because the older one is replayed and dies again', async () => {
    answer = () => BAD;
    await queue(1);
    await isQuiet();
    parts.clock.stepWall(byMs);
    answer = () => DOWN;
    await queue(1, 'degraded');
    await isQuiet();
    const { store, clock } = parts;
    const byHand = createManualDeliveries({ store, clock, deliverer, publicUrl: 'http://svc.example' });
    answer = () => {
      answer = () => OK;
      return BAD;
    };
    expect(await byHand.replayChannel(channel)).toBe(1);
    await isQuiet();
    await pass(10_000);
    expect(await states()).toEqual(['dead', 'delivered']);
  });

  test('a younger alert makes the older one due once', async () => {
    await queue(1);
    await isQuiet();
    await queue(1, 'degraded');
    await isQuiet();
    parts.clock.stepWall(byMs);
    await pass(10 * MINUTE);
    expect(sent.length).toBeLessThanOrEqual(IN_TEN_MINUTES);
  });

  test('a success makes what waits due once, until its own wait is over', async () => {
    answer = (monitorId) => (monitorId === 1 ? DOWN : OK);
    const succeed = async (monitorId: number) => {
      await queue(monitorId);
      await expect.poll(async () => (await states()).at(-1)).toBe('delivered');
      await isQuiet();
    };
    const ofFirst = () => sent.filter((monitorId) => monitorId === 1).length;
    await queue(1);
    await isQuiet();
    parts.clock.stepWall(byMs);
    await succeed(2);
    expect(ofFirst()).toBe(2);
    await succeed(3);
    expect(ofFirst()).toBe(2);
    // The wait after the second attempt is over.
    await pass(9_000);
    expect(ofFirst()).toBe(3);
    await succeed(4);
    expect(ofFirst()).toBe(4);
  });

  test('the alarm about alerts that do not arrive comes after two minutes', async () => {
    const { store, secrets, clock } = parts;
    const publicUrl = 'http://svc.example';
    const overdue = new OverdueAlerts({
      store,
      secrets,
      ids: TEST_IDS,
      clock,
      log: silentLog,
      publicUrl,
      deliverer,
    });
    overdue.start();
    await queue(1);
    await isQuiet();
    clock.stepWall(byMs);
    await clock.advanceSettling(90_000);
    await isQuiet();
    expect(overdue.channels).toEqual([]);
    await clock.advanceSettling(60_000);
    await expect.poll(() => overdue.channels.length).toBe(1);
    await overdue.stop();
  });

  test('before a start: no wait is longer than its schedule allows', async () => {
    await queue(1);
    await isQuiet();
    await deliverer.stop();
    parts.clock.stepWall(byMs);
    await begin();
    await pass(10_000);
    expect(sent.length).toBeGreaterThanOrEqual(2);
    expect(sent.length).toBeLessThanOrEqual(3);
  });

  test('while it runs, and before the next start: no wait is longer than its schedule allows', async () => {
    parts.clock.stepWall(byMs);
    await queue(1);
    await isQuiet();
    await deliverer.stop();
    await begin();
    await pass(10_000);
    expect(sent.length).toBeGreaterThanOrEqual(2);
    expect(sent.length).toBeLessThanOrEqual(3);
  });
});
