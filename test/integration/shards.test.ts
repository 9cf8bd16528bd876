/**
 * Two coordinators lead four shards on one PostgreSQL database and one NATS server:
 * two each, all after the other one has ended, and two each again when it is back.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { shardsCommand } from '@svc/cli/machine/shards-command.ts';
import type { Region } from '@svc/shared/regions.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LocalService } from '../support/local-service.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { ScaledClock } from '../support/scaled-clock.ts';

const REGIONS: readonly Region[] = ['hosta-fra'];
const MONITORS = 8;
const SHARDS = 4;

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.dispose());

type Shard = { id: number; led: boolean; here: boolean };

async function ledBy(service: LocalService): Promise<number[]> {
  const { shards } = await service.get<{ shards: Shard[] }>('/v1/system');
  return shards.flatMap(({ id, here }) => (here ? [id] : []));
}

/** Resolves when each service leads this number of shards. */
async function untilLed(...expected: [LocalService, number][]): Promise<void> {
  for (;;) {
    const led = await Promise.all(expected.map(async ([service]) => (await ledBy(service)).length));
    if (expected.every(([, count], index) => led[index] === count)) return;
    await delay(200);
  }
}

/** Resolves when all monitors have this status, as this service shows it. */
async function untilAll(service: LocalService, status: string): Promise<void> {
  for (;;) {
    const { data } = await service.get<{ data: { status: string }[] }>('/v1/monitors');
    if (data.length === MONITORS && data.every((monitor) => monitor.status === status)) return;
    await delay(200);
  }
}

async function created(service: LocalService, path: string, body: object): Promise<string> {
  const answer = await service.request('POST', path, body);
  expect(answer).toMatchObject({ status: 201 });
  return (answer.body as { id: string }).id;
}

test('shards are led evenly, and no result and no alert is lost or doubled when they move', async (context) => {
  const opened = openedIn(context);
  const [web, hook] = [await targetIn(opened), await receiverIn(opened)];
  const nats = await startNatsServer();
  opened.push({ close: () => nats.dispose() });
  await postgres.run('CREATE DATABASE shards');
  const database = postgres.url('shards');
  const shared = { natsUrl: nats.url, clock: new ScaledClock(10), declared: {}, database };
  const first = await serviceIn(opened, { ...shared, shards: SHARDS, regions: REGIONS });
  expect(await ledBy(first)).toEqual([0, 1, 2, 3]);
  // Without the setting, the second coordinator takes the number of shards from the database.
  const second = await serviceIn(opened, { ...shared, regions: [] });
  await untilLed([first, 2], [second, 2]);

  const ids: string[] = [];
  for (let number = 0; number < MONITORS; number += 1) {
    const monitor = {
      type: 'http',
      url: web.url,
      periodicity: '30s',
      active: true,
      retry: 0,
      regions: REGIONS,
    };
    ids.push(await created(second, '/v1/monitors', { ...monitor, name: `Web ${number}` }));
  }
  await created(first, '/v1/notifications', {
    name: 'Hook',
    provider_type: 'webhook',
    webhook: { endpoint: hook.url },
    group_alerts: false,
    notify_unknown: true,
    remind_every: null,
    monitor_ids: ids,
  });
  await Promise.all([untilAll(first, 'active'), untilAll(second, 'active')]);

  web.answerWith((response) => {
    response.statusCode = 503;
    response.end();
  });
  await hook.received(MONITORS);
  await Promise.all([untilAll(first, 'error'), untilAll(second, 'error')]);

  // Each line of the log about a monitor names the monitor's shard.
  const changes = [...first.transitions, ...second.transitions];
  expect(changes.map(({ shard }) => shard)).toEqual(changes.map(({ monitor }) => monitor.id % SHARDS));

  // The second coordinator leads all shards, and ends the incidents that began at either coordinator.
  await first.stopCoordinator();
  await untilLed([second, SHARDS]);
  web.answerWith((response) => response.end('ok'));
  await hook.received(2 * MONITORS);
  await untilAll(second, 'active');

  await first.startCoordinator();
  await untilLed([first, 2], [second, 2]);
  const since = first.clock.wall();
  const told = hook.requests.map(({ json, headers }) => ({
    key: `${(json as { monitor: { id: unknown } }).monitor?.id} ${(json as { status: string }).status}`,
    id: headers['webhook-id'],
  }));
  expect(told).toHaveLength(2 * MONITORS);
  expect(new Set(told.map(({ id }) => id)).size).toBe(2 * MONITORS);
  for (const id of ids) {
    for (;;) {
      const { data } = await second.get<{ data: { cron_timestamp: number; outcome: string }[] }>(
        `/v1/monitors/${id}/results?limit=100`,
      );
      const slots = data.map(({ cron_timestamp: slot }) => slot);
      expect(new Set(slots).size).toBe(slots.length);
      if (data.some(({ cron_timestamp: slot, outcome }) => slot > since && outcome === 'passed')) break;
      await delay(200);
    }
  }
  await expect(serviceIn(opened, { ...shared, shards: 2, regions: [] })).rejects.toMatchObject({
    code: 'wrong-shards',
  });

  // Agents keep working while the number of shards changes. What they report on the former subjects is
  // recorded.
  await Promise.all([first.stopCoordinator(), second.stopCoordinator()]);
  const said: string[] = [];
  const surroundings = {
    environment: { SVC_DATABASE_URL: database.reveal() },
    err: { write: (text: string) => said.push(text) },
  };
  await shardsCommand.run(['3'], surroundings as unknown as Parameters<typeof shardsCommand.run>[1]);
  expect(said).toEqual(['svc: the monitors lie in 3 shards now (before: 4)\n']);
  await second.startCoordinator();
  await untilLed([second, 3]);
  web.answerWith((response) => {
    response.statusCode = 503;
    response.end();
  });
  await hook.received(3 * MONITORS);
  await untilAll(second, 'error');
});
