/**
 * The coordinator is killed with SIGKILL near the message that combines many alerts: before it is sent, and
 * after it is sent but before that is recorded. At the end, the messages that an ntfy server got are compared
 * with the queued alerts.
 */
import type { ServerResponse } from 'node:http';
import { TOLD_ALONE } from '@svc/coordinator/verdict/grouping.ts';
import type { Alert } from '@svc/shared/channels/alert.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { queueInDatabase } from '../support/queue-in-database.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { System } from '../support/system.ts';

/** The number of monitors. It is small enough for the combined message to name each of them. */
const MONITORS = 2 * TOLD_ALONE;
/** Maximum number of concurrent sends to one channel, and so of sends under way at a kill. */
const UNDER_WAY = 8;

type Message = { readonly title: string; readonly message: string };

let receiver: Receiver;
let system: System;

beforeEach(async () => {
  receiver = await startReceiver();
  system = await System.start({
    regions: [],
    declared: {
      svc_notification: {
        ops: {
          name: 'Ops',
          provider_type: 'push_a',
          push_a: { topic: 'alerts', server_url: receiver.url },
          monitor_ids: [],
        },
      },
    },
  });
  await expect.poll(() => system.query('SELECT id FROM notifications')).toHaveLength(1);
  await system.coordinator.end('SIGTERM');
  await queueErrors();
});

afterEach(async () => {
  await system?.dispose();
  await receiver?.close();
});

/**
 * Queues one alert for each monitor, as a commit leaves it in the outbox. They are queued with a time in the
 * future, so that they are still fresh when the coordinator has started.
 */
async function queueErrors(): Promise<void> {
  const [channel] = await system.query<{ id: number }>('SELECT id FROM notifications');
  const alerts = Array.from({ length: MONITORS }, (_, index): Alert => {
    const id = index + 1;
    return {
      monitor: { id, name: `Shop ${id}.`, url: `https://shop.example/${id}`, type: 'http' },
      status: 'error',
      cronTimestamp: 1,
      at: 1,
      reason: 'test',
      incident: `incident of ${id}`,
      regions: [],
    };
  });
  await queueInDatabase(system.database, channel?.id ?? 0, alerts, Date.now() + 3_600_000);
}

const messages = () => receiver.requests.map(({ json }) => json as Message);
const isForMany = ({ title }: Message) => title.includes(' monitors: ');
const toldIn = ({ title, message }: Message) => `${title}\n${message}`.match(/Shop \d+\./g) ?? [];
/** The mentions of each monitor in all messages. */
const told = () => Map.groupBy(messages().flatMap(toldIn), (name) => name);

const allDelivered = () =>
  expect
    .poll(async () => (await system.query("SELECT id FROM deliveries WHERE state = 'delivered'")).length)
    .toBe(MONITORS);

/** Starts the coordinator, and kills it at the message that `isLast` chooses, which gets no answer. */
async function killedAt(isLast: (message: Message) => boolean): Promise<void> {
  const { promise: killed, resolve } = Promise.withResolvers<void>();
  let isKilled = false;
  receiver.answerWith(({ json }, response) => {
    if (!isKilled && isLast(json as Message)) {
      isKilled = true;
      void system.coordinator.end('SIGKILL').then(() => resolve());
    }
    if (!isKilled) publish(response);
  });
  // Messages may come before the coordinator has said that it is ready.
  const ready = system.coordinator.start().catch((error: unknown) => {
    if (!isKilled) throw error;
  });
  await Promise.all([ready, killed]);
  receiver.answerWith((_request, response) => publish(response));
}

/** Answers as ntfy does. */
function publish(response: ServerResponse): void {
  const published = { id: 'a1', time: 1_767_225_602, event: 'message', topic: 'alerts' };
  response.setHeader('content-type', 'application/json').end(JSON.stringify(published));
}

test('killed after the first messages: each monitor is announced, and twice only if its message was under way', async () => {
  await killedAt(() => receiver.requests.length === TOLD_ALONE);
  const before = messages();
  expect(before.filter(isForMany)).toEqual([]);
  await system.coordinator.start();
  await allDelivered();
  const all = told();
  expect(all.size).toBe(MONITORS);
  const twice = [...all.values()].filter(({ length }) => length > 1);
  expect(twice.every(({ length }) => length === 2)).toBe(true);
  expect(twice.length).toBeLessThanOrEqual(UNDER_WAY);
  const namesBefore = new Set(before.flatMap(toldIn));
  expect(twice.every(([name]) => namesBefore.has(name ?? ''))).toBe(true);
});

test('killed between the send and its record: the combined message comes once more, unchanged', async () => {
  await killedAt(isForMany);
  const alone = messages().filter((message) => !isForMany(message));
  expect(alone).toHaveLength(TOLD_ALONE);
  await system.coordinator.start();
  await allDelivered();
  const forMany = messages().filter(isForMany);
  expect(forMany).toHaveLength(2);
  expect(forMany[1]).toEqual(forMany[0]);
  expect(messages()).toHaveLength(TOLD_ALONE + 2);
  expect(told().size).toBe(MONITORS);
});
