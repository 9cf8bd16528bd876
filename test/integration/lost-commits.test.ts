/**
 * A PostgreSQL that lost its last commits while two coordinators run: an asynchronous standby
 * has taken the place of its primary. The leader's memory is ahead of the database then.
 */

import type { ServerResponse } from 'node:http';
import { readReports } from '@svc/coordinator/store/results/report-bytes.ts';
import { Secret } from '@svc/shared/secret.ts';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHeldLink } from '../support/held-link.ts';
import type { LocalService } from '../support/local-service.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { hookOf, openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import type { Receiver } from '../support/receiver.ts';
import { ScaledClock } from '../support/scaled-clock.ts';

const REGIONS = ['hosta-fra', 'hostb-par', 'hostc-us-east4'] as const;

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.dispose());

async function rows<Row extends object>(sql: string, server = postgres, database = 'svc'): Promise<Row[]> {
  const client = new pg.Client({ connectionString: server.url(database).reveal() });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function results(server = postgres): Promise<string[]> {
  const found = await rows<{ slot: string; monitor_id: string; reports: Buffer }>(
    'SELECT slot, monitor_id, reports FROM slot_results ORDER BY slot, monitor_id',
    server,
  );
  return found.flatMap(({ slot, monitor_id, reports }) =>
    readReports(Number(slot), reports)
      .filter(({ outcome }) => outcome !== 'not_run')
      .map(({ region, outcome }) => `${monitor_id} ${slot} ${region} ${outcome}`),
  );
}

const down = (response: ServerResponse) => void response.writeHead(503).end();
const told = ({ requests }: Receiver) => requests.map(({ json }) => (json as { status: string }).status);

const idOf = async (service: LocalService, path: string, name: string) => {
  const { data } = await service.get<{ data: { id: string; name: string }[] }>(path);
  return data.find((one) => one.name === name)?.id ?? '';
};

test('the leader begins anew from what the database has', async (context) => {
  const opened = openedIn(context);
  const [web, hook] = [await targetIn(opened), await receiverIn(opened)];
  const monitorOf = (name: string) => ({
    ...{ name, url: `${web.url}/${name}`, regions: REGIONS },
    ...{ periodicity: '30s', active: true, retry: 0 },
  });
  const declared = {
    svc_http_monitor: { steady: monitorOf('Steady'), failing: monitorOf('Failing') },
    svc_notification: { hook: hookOf(hook, 'svc_http_monitor.steady', 'svc_http_monitor.failing') },
  };
  await postgres.run('CREATE DATABASE svc');
  const nats = await startNatsServer();
  opened.push({ close: () => nats.dispose() });
  const shared = { natsUrl: nats.url, clock: new ScaledClock(10), database: postgres.url('svc') };
  const first = await serviceIn(opened, { ...shared, declared, regions: REGIONS });
  const second = await serviceIn(opened, { ...shared, declared, regions: [] });
  await Promise.all([first.changed('Steady', 'active'), first.changed('Failing', 'active')]);
  await postgres.keepData();

  web.answerWith((response, path) => void response.writeHead(path === '/Failing' ? 503 : 200).end());
  await hook.received(1);
  const later = await second.request('POST', '/v1/monitors', { ...monitorOf('Later'), type: 'http' });
  expect(later.status).toBe(201);
  const lostId = Number((later.body as { id: string }).id);
  const { svc_http_monitor } = declared;
  const withAdded = { ...declared, svc_http_monitor: { ...svc_http_monitor, added: monitorOf('Added') } };
  await second.declare(withAdded);
  await first.reload(withAdded);
  await first.changed('Added', 'active');
  const before = (await results()).filter((result) => Number(result.split(' ')[0]) < lostId);
  const facts = async () => ({
    incidents: await rows('SELECT key, monitor_id FROM incidents WHERE closed_at IS NULL'),
    alerts: await rows("SELECT uid, status FROM deliveries WHERE state = 'delivered'"),
  });
  const factsBefore = await facts();
  expect(factsBefore).toMatchObject({ incidents: [{}], alerts: [{ status: 'error' }] });

  await postgres.goBack();
  await hook.received(2);
  await expect.poll(facts).toEqual(factsBefore);
  // The declared file is applied again.
  await expect.poll(async () => idOf(first, '/v1/monitors', 'Added')).not.toBe('');
  const kept = new Set(await results());
  expect(before.filter((result) => !kept.has(result))).toEqual([]);

  web.answerWith((response) => response.end());
  const alerts = await hook.received(3);
  expect(told(hook)).toEqual(['error', 'error', 'recovered']);
  const [one, again, recovered] = alerts.map(({ headers }) => headers['webhook-id']);
  expect(again).toBe(one);
  expect(recovered).not.toBe(one);
});

test('a lagging standby is promoted, and later the former primary again: no result and no alert is lost', async (context) => {
  const opened = openedIn(context);
  const [web, hook] = [await targetIn(opened), await receiverIn(opened)];
  const nats = await startNatsServer();
  opened.push({ close: () => nats.dispose() });
  const one = await startPostgres({ isDurable: true });
  opened.push({ close: () => one.dispose() });
  await one.run('CREATE DATABASE svc');
  const replication = await startHeldLink(one.port);
  opened.push(replication);
  const two = await startPostgres({ isDurable: true, standbyOf: replication.port });
  opened.push({ close: () => two.dispose() });
  // The address that the clients know leads to the primary, as a name or a virtual address does.
  const address = await startHeldLink(one.port);
  opened.push(address);
  const database = new Secret(`postgres://svc@127.0.0.1:${address.port}/svc`);
  const shared = { natsUrl: nats.url, clock: new ScaledClock(10), database };
  const monitor = { name: 'Web', url: web.url, regions: REGIONS, periodicity: '30s', active: true, retry: 0 };
  const declared = {
    svc_http_monitor: { web: monitor },
    svc_notification: { hook: hookOf(hook, 'svc_http_monitor.web') },
  };
  const first = await serviceIn(opened, { ...shared, declared, regions: REGIONS });
  const second = await serviceIn(opened, { ...shared, declared, regions: [] });
  await first.changed('Web', 'active');
  await expect.poll(() => results(two)).not.toEqual([]);

  // The standby gets nothing more.
  replication.hold();
  web.answerWith(down);
  await hook.received(1);
  await first.decided(await first.idOf('Web'), 1);
  await two.run('SELECT pg_promote()');
  address.lead(two.port);
  await hook.received(2);
  const recorded = await results(one);
  const lost = async () => {
    const kept = new Set(await results(two));
    return recorded.filter((result) => !kept.has(result));
  };
  await expect.poll(lost).toEqual([]);
  web.answerWith((response) => response.end());
  await hook.received(3);
  expect(told(hook)).toEqual(['error', 'error', 'recovered']);
  const [error, again, recovered] = hook.requests.map(({ headers }) => headers['webhook-id']);
  expect(again).toBe(error);
  expect(recovered).not.toBe(error);

  // The former primary follows the new one. The address leads to it while it is still read-only.
  await one.follow(two.port);
  await expect.poll(() => results(one)).not.toEqual([]);
  const readOnly = async () => (await rows<{ is: boolean }>('SELECT pg_is_in_recovery() AS is', one))[0]?.is;
  expect(await readOnly()).toBe(true);
  address.lead(one.port);
  const refused = 'lost the connection that writes the database';
  await first.until(() => first.said.has(refused) || second.said.has(refused));
  await two.stop();
  await one.run('SELECT pg_promote()');
  web.answerWith(down);
  await hook.received(4);
  expect(told(hook)).toEqual(['error', 'error', 'recovered', 'error']);
});

test('an own region whose number was lost gets one from the next leadership, and is checked', async (context) => {
  const opened = openedIn(context);
  const web = await targetIn(opened);
  await postgres.run('CREATE DATABASE numbers');
  const regions = ['office-berlin'];
  const service = await serviceIn(opened, {
    ...{ database: postgres.url('numbers'), declared: {}, regions },
    extraRegions: [{ id: 'office-berlin', name: null }],
  });
  await service.stopLeading();
  await rows('DELETE FROM own_regions', postgres, 'numbers');
  await service.lead();
  await service.declare({
    svc_http_monitor: { web: { name: 'Web', url: web.url, periodicity: '30s', active: true, regions } },
  });
  await service.changed('Web', 'active');
  await service.decided(await service.idOf('Web'), 1);
});
