/**
 * The whole service on PostgreSQL, as processes: it declares, checks and alerts,
 * and goes on after the coordinator was killed and after the database was away.
 */

import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HttpTarget, startHttpTarget } from '../support/http-target.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { System } from '../support/system.ts';

/** An alert, as the receiver gets it. */
type Told = { readonly status: string };
type Monitor = { readonly id: string; readonly status: string };
type Result = { readonly outcome: string };

/** Polling for a status, which changes with the next slot, 30 s later at most. */
const SLOT = { interval: 250 };

let postgres: PostgresServer;
let target: HttpTarget;
let receiver: Receiver;
let system: System;

beforeAll(async () => {
  postgres = await startPostgres({ isDurable: true });
  await postgres.run('CREATE DATABASE svc');
  target = await startHttpTarget();
  receiver = await startReceiver();
  system = await System.start({
    regions: ['hosta-fra', 'hostb-par'],
    environment: { SVC_DATABASE_URL: postgres.url('svc').reveal() },
    declared: {
      svc_http_monitor: {
        shop: { name: 'Shop', url: target.url, periodicity: '30s', active: true, public: true, retry: 0 },
      },
      svc_notification: {
        ops: {
          name: 'Ops',
          provider_type: 'webhook',
          webhook: { endpoint: receiver.url },
          monitor_ids: [`\${svc_http_monitor.shop.id}`],
        },
      },
      svc_status_page: { main: { title: 'Shop', slug: 'shop' } },
      svc_status_page_component: {
        shop: {
          page_id: `\${svc_status_page.main.id}`,
          type: 'monitor',
          monitor_id: `\${svc_http_monitor.shop.id}`,
        },
      },
    },
  });
});
afterAll(async () => {
  await system?.dispose();
  await receiver?.close();
  await target?.close();
  await postgres?.dispose();
});

const monitor = async () => {
  const { data } = await system.get<{ data: Monitor[] }>('/v1/monitors');
  return data[0] as Monitor;
};
const statusIs = (status: string) => expect.poll(async () => (await monitor()).status, SLOT).toBe(status);
const results = async () => {
  const { id } = await monitor();
  return (await system.get<{ data: Result[] }>(`/v1/monitors/${id}/results?limit=100`)).data;
};
const told = () => receiver.requests.map(({ json }) => (json as Told).status);
const setUp = (isUp: boolean) =>
  target.answerWith((response) => {
    response.statusCode = isUp ? 200 : 503;
    response.end();
  });

test('what is declared is checked, shown and alerted about', async () => {
  await statusIs('active');
  const recorded = await results();
  expect(recorded.map(({ outcome }) => outcome)).toContain('passed');
  const page = await fetch(`${system.url}/status/shop`);
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Shop')]);
  setUp(false);
  await receiver.received(1);
  expect(told()).toEqual(['error']);
  await statusIs('error');
});

test('a coordinator that was killed goes on where it was', async () => {
  const before = await results();
  await system.coordinator.end('SIGKILL');
  await system.coordinator.start();
  await statusIs('error');
  setUp(true);
  await receiver.received(2);
  expect(told()).toEqual(['error', 'recovered']);
  const after = await results();
  expect(after).toEqual(expect.arrayContaining(before));
});

test('a coordinator whose database was away goes on, and has lost no result', async () => {
  const before = await results();
  await postgres.stop();
  const answer = await fetch(`${system.url}/v1/monitors`, {
    headers: { authorization: `Bearer ${system.token}` },
  });
  expect(answer.status).toBe(503);
  await postgres.restart();
  setUp(false);
  await receiver.received(3);
  expect(told()).toEqual(['error', 'recovered', 'error']);
  expect(await results()).toEqual(expect.arrayContaining(before));
});

test('it stops in order, and goes on from a dump that was restored', async () => {
  const before = await results();
  expect(await system.coordinator.end('SIGTERM')).toBe(0);
  await postgres.copy('svc', 'restored');
  await postgres.run('DROP DATABASE svc');
  await postgres.run('ALTER DATABASE restored RENAME TO svc');
  await system.coordinator.start();
  expect(await monitor()).toMatchObject({ status: 'error' });
  expect(await results()).toEqual(expect.arrayContaining(before));
  setUp(true);
  await receiver.received(4);
  expect(told()).toEqual(['error', 'recovered', 'error', 'recovered']);
});
