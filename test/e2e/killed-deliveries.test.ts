/**
 * The coordinator is killed with SIGKILL in each state of a delivery: before
 * its request arrives, while it is under way, and after its answer, before
 * that is recorded. What a receiver got is compared with what was queued.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Alert } from '@svc/shared/channels/alert.ts';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { IS_POSTGRES } from '../support/database.ts';
import { endServer, listenOnLoopback } from '../support/loopback-server.ts';
import { queueInDatabase } from '../support/queue-in-database.ts';
import { System } from '../support/system.ts';

const MONITORS = 20;
const STATUSES = ['error', 'degraded', 'recovered'] as const;
const WAITING_FOR_LOCKS = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;
/** Maximum of messages to one channel at once. */
const AT_ONCE = 8;

type Received = { readonly id: string; readonly monitor: number; readonly status: string };

let server: Server;
let system: System;
let received: Received[];
let answer: (request: Received, response: ServerResponse) => void;

beforeEach(async () => {
  received = [];
  answer = (_request, response) => void response.end();
  server = createServer((request, response) => void take(request, response));
  const port = await listenOnLoopback(server);
  const webhook = { endpoint: `http://127.0.0.1:${port}/` };
  system = await System.start({
    regions: [],
    declared: {
      svc_notification: { ops: { name: 'Ops', provider_type: 'webhook', webhook, monitor_ids: [] } },
    },
  });
  await expect.poll(() => system.query('SELECT id FROM notifications')).toHaveLength(1);
  await system.coordinator.end('SIGTERM');
  await queueAlerts();
});

afterEach(async () => {
  await system?.dispose();
  await endServer(server);
});

async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  // A request that is cut off is not received.
  request.on('error', () => {});
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { monitor, status } = JSON.parse(Buffer.concat(chunks).toString());
    const one = { id: String(request.headers['webhook-id']), monitor: monitor.id, status };
    received.push(one);
    answer(one, response);
  });
}

/** Queues the alerts of an outage of each monitor, as commits leave them in the outbox. */
async function queueAlerts(): Promise<void> {
  const [channel] = await system.query<{ id: number }>('SELECT id FROM notifications');
  const alerts = STATUSES.flatMap((status) =>
    Array.from({ length: MONITORS }, (_, index): Alert => {
      const id = index + 1;
      const monitor = { id, name: `Shop ${id}`, url: `https://shop.example/${id}`, type: 'http' } as const;
      const incident = `incident of ${id}`;
      return { monitor, status, cronTimestamp: 1, at: 1, reason: 'test', incident, regions: [] };
    }),
  );
  await queueInDatabase(system.database, channel?.id ?? 0, alerts);
}

/** Starts the coordinator, which may be killed before it has said that it is ready. */
async function startedUntilKilled(killed: Promise<unknown>): Promise<void> {
  const isKilled = killed.then(() => true);
  const ready = system.coordinator.start().catch(async (error: unknown) => {
    if (!(await isKilled)) throw error;
  });
  await Promise.all([ready, killed]);
}

/** Lets the next life deliver everything, and judges what came in both. Returns how much came twice. */
async function judgeAll(): Promise<number> {
  answer = (_request, response) => void response.end();
  await system.coordinator.start();
  const states = () => system.query<{ state: string }>('SELECT DISTINCT state FROM deliveries');
  await expect.poll(states).toEqual([{ state: 'delivered' }]);
  const byId = Map.groupBy(received, ({ id }) => id);
  expect(byId.size).toBe(MONITORS * STATUSES.length);
  expect(
    new Set((await system.query<{ uid: string }>('SELECT uid FROM deliveries')).map(({ uid }) => uid)),
  ).toEqual(new Set(byId.keys()));
  for (const ofMonitor of Map.groupBy(received, ({ monitor }) => monitor).values()) {
    const told = ofMonitor.filter(({ id }, index) => id !== ofMonitor[index - 1]?.id);
    expect(told.map(({ status }) => status)).toEqual(STATUSES);
  }
  return received.length - byId.size;
}

test('killed before a request arrives: each alert comes once', async () => {
  const { promise: killed, resolve } = Promise.withResolvers<void>();
  server.once('connection', (socket) => {
    // The test reads nothing that is sent over this connection.
    socket.pause();
    void system.coordinator.end('SIGKILL').then(() => {
      socket.destroy();
      resolve();
    });
  });
  await startedUntilKilled(killed);
  expect(received).toEqual([]);
  expect(await judgeAll()).toBe(0);
});

test('killed while requests are under way: these come again, under their ids', async () => {
  const { promise: killed, resolve } = Promise.withResolvers<void>();
  answer = (_request, response) => {
    if (received.length <= 1) return void response.end();
    if (received.length === 1 + AT_ONCE) void system.coordinator.end('SIGKILL').then(() => resolve());
  };
  await startedUntilKilled(killed);
  expect(await judgeAll()).toBeLessThanOrEqual(1 + AT_ONCE);
});

test('killed after the answers, before they are recorded: these come again, under their ids', async () => {
  // The first answers come when the coordinator is ready, and its database cannot be written any more.
  const first = Promise.withResolvers<ServerResponse>();
  answer = (_request, response) => first.resolve(response);
  await system.coordinator.start();
  const response = await first.promise;
  const held = await system.database.hold();
  const all = Promise.withResolvers<void>();
  answer = (_request, later) => {
    later.end();
    if (received.length === AT_ONCE) later.once('close', () => all.resolve());
  };
  response.end();
  await all.promise;
  await system.coordinator.end('SIGKILL');
  // PostgreSQL would carry out the waiting statements of a dead client as soon as they got the lock. So the
  // test waits until no statement waits.
  if (IS_POSTGRES) await expect.poll(() => system.query(WAITING_FOR_LOCKS)).toEqual([]);
  await held.release();
  const attempts = await system.query('SELECT delivery_id FROM delivery_attempts');
  expect(attempts).toEqual([]);
  expect(await judgeAll()).toBe(AT_ONCE);
});
