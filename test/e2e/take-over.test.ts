/**
 * Two coordinators as processes over one PostgreSQL. The one that leads is killed, or frozen for longer than
 * its lease. With several shards, one of two leaders is killed.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { WRITER_LOCK } from '@svc/coordinator/store/postgres/postgres-dialect.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { COORDINATOR_ENVIRONMENT, COORDINATOR_FLAGS } from '../../deploy/local/node-flags.ts';
import { builtService } from '../support/built-services.ts';
import { queryOnce } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { type HttpTarget, startHttpTarget } from '../support/http-target.ts';
import { hookOf } from '../support/opened.ts';
import { OPERATOR_ENVIRONMENT } from '../support/operator-values.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { runIn } from '../support/postgres-store.ts';
import { Program, ROOT } from '../support/process.ts';
import { scrape } from '../support/prometheus-text.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { System } from '../support/system.ts';

let postgres: PostgresServer;
let target: HttpTarget;
let receiver: Receiver;

beforeAll(async () => {
  postgres = await startPostgres({ isDurable: true });
  [target, receiver] = [await startHttpTarget(), await startReceiver()];
});
afterAll(async () => {
  await receiver?.close();
  await target?.close();
  await postgres?.dispose();
});

/** A service with a second coordinator. */
type Pair = {
  readonly system: System;
  readonly second: Program;
  readonly secondUrl: string;
  dispose(): Promise<void>;
};

async function startPair(database: string, declared: object, shards: number): Promise<Pair> {
  await postgres.run(`CREATE DATABASE ${database}`);
  const environment = {
    SVC_DATABASE_URL: postgres.url(database).reveal(),
    SVC_SECRET_KEY: randomBytes(32).toString('base64'),
    SVC_SHARDS: String(shards),
  };
  const system = await System.start({ regions: ['hosta-fra'], environment, declared });
  const folder = await mkdtemp(join(tmpdir(), 'svc-second-'));
  const port = await freePort();
  const second = new Program(
    await builtService('coordinator'),
    {
      ...COORDINATOR_ENVIRONMENT,
      ...OPERATOR_ENVIRONMENT,
      ...environment,
      SVC_NATS_URL: system.nats.url,
      SVC_LISTEN: `127.0.0.1:${port}`,
      SVC_DATA_DIR: folder,
      SVC_API_TOKEN: system.token,
      SVC_CHANNEL_EGRESS_ALLOW: '127.0.0.0/8',
    },
    COORDINATOR_FLAGS,
    ROOT,
  );
  const dispose = async () => {
    await second.end('SIGKILL');
    await system.dispose();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await second.start();
  } catch (error) {
    await dispose();
    throw error;
  }
  return { system, second, secondUrl: `http://127.0.0.1:${port}`, dispose };
}

const isLeading = async (url: string) => (await scrape(url)).get('svc_leading') === 1;

async function untilLeading(url: string): Promise<void> {
  while (!(await isLeading(url))) await delay(20);
}

const told = () => receiver.requests.map(({ json }) => (json as { status: string }).status);

describe('the leader of the only shard', () => {
  let pair: Pair;
  let system: System;
  let second: Program;
  let secondUrl: string;
  beforeAll(async () => {
    const shop = { name: 'Shop', url: target.url, periodicity: '30s', active: true, retry: 0 };
    const declared = {
      svc_http_monitor: { shop },
      svc_notification: { ops: { name: 'Ops', ...hookOf(receiver, 'svc_http_monitor.shop') } },
    };
    pair = await startPair('svc', declared, 1);
    ({ system, second, secondUrl } = pair);
  });
  afterAll(() => pair?.dispose());

  test('a killed leader is replaced, and comes back as the one that waits', async () => {
    const status = async () =>
      (await system.get<{ data: { status: string }[] }>('/v1/monitors')).data[0]?.status;
    await expect.poll(status).toBe('active');
    expect([await isLeading(system.url), await isLeading(secondUrl)]).toEqual([true, false]);
    await system.coordinator.end('SIGKILL');
    await untilLeading(secondUrl);
    await system.coordinator.start();
    expect([await isLeading(system.url), await isLeading(secondUrl)]).toEqual([false, true]);
  });

  test('a leader that was frozen sends nothing when it wakes, and stops leading', async () => {
    process.kill(second.pid, 'SIGSTOP');
    await untilLeading(system.url);
    target.answerWith((response) => {
      response.statusCode = 503;
      response.end();
    });
    await receiver.received(1);
    const lost = second.line(({ msg }) => msg.includes('has taken the lease'));
    process.kill(second.pid, 'SIGCONT');
    await lost;
    while (await isLeading(secondUrl)) await delay(20);
    expect(await isLeading(system.url)).toBe(true);
    expect(told()).toEqual(['error']);
  });

  test('after a clean stop the other one leads', async () => {
    await system.coordinator.end('SIGTERM');
    await untilLeading(secondUrl);
    target.answerWith((response) => response.end('ok'));
    await receiver.received(2);
    expect(told()).toEqual(['error', 'recovered']);
  });

  test('coordinators end when a newer version has migrated the database, write nothing, and say why they do not start', async () => {
    await system.coordinator.start();
    const endings = [system.coordinator, second].map((one) => one.ended());
    const rows = () => queryOnce(postgres.url('svc'), 'SELECT count(*) AS count FROM slot_results');
    await runIn(
      postgres.url('svc'),
      `SELECT pg_advisory_xact_lock(${WRITER_LOCK});
       INSERT INTO kysely_migration (name, timestamp) VALUES ('9999-later', '')`,
    );
    const before = await rows();
    expect(await Promise.all(endings)).toEqual([1, 1]);
    expect(await rows()).toEqual(before);
    for (const { lines } of [system.coordinator, second]) {
      const [reason] = lines.filter(({ msg }) => msg.startsWith('a newer version has migrated the database'));
      expect(reason).toMatchObject({ level: 50, error: expect.stringContaining('9999-later') });
    }
    await expect(second.start()).rejects.toThrow(
      'svc: the coordinator cannot start: the PostgreSQL database was written by a newer version of svc (9999-later)',
    );
  });
});

test('shards of a killed coordinator move to the other one, and no result and no alert is lost or doubled', async (context) => {
  const [SHARDS, MONITORS] = [4, 8];
  const [web, hook] = [await startHttpTarget(), await startReceiver()];
  const pair = await startPair('shards', {}, SHARDS);
  context.onTestFinished(async () => {
    await pair.dispose();
    await hook.close();
    await web.close();
  });
  const { system, second, secondUrl } = pair;
  const ask = async <T>(url: string, method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${system.token}`, 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { method, headers, body: JSON.stringify(body) ?? null });
    expect([path, response.status]).toEqual([path, method === 'POST' ? 201 : 200]);
    return (await response.json()) as T;
  };
  const ledBy = async (url: string) => {
    const { shards } = await ask<{ shards: { here: boolean }[] }>(url, 'GET', '/v1/system');
    return shards.filter(({ here }) => here).length;
  };
  await expect.poll(() => Promise.all([ledBy(system.url), ledBy(secondUrl)])).toEqual([2, 2]);

  // All checks are under way when the coordinator is killed.
  const held: ServerResponse[] = [];
  const all = Promise.withResolvers<void>();
  web.answerWith((response) => {
    if (held.push(response) === MONITORS) all.resolve();
  });
  const ids: string[] = [];
  for (let number = 0; number < MONITORS; number += 1) {
    const monitor = {
      type: 'http',
      url: web.url,
      periodicity: '30s',
      active: true,
      retry: 0,
      timeout: 60_000,
    };
    const { id } = await ask<{ id: string }>(system.url, 'POST', '/v1/monitors', {
      ...monitor,
      name: `Web ${number}`,
    });
    ids.push(id);
  }
  await ask(system.url, 'POST', '/v1/notifications', {
    name: 'Hook',
    provider_type: 'webhook',
    webhook: { endpoint: hook.url },
    group_alerts: false,
    monitor_ids: ids,
  });
  await all.promise;
  await second.end('SIGKILL');
  for (const response of held) {
    response.statusCode = 503;
    response.end();
  }
  await hook.received(MONITORS);
  expect(await ledBy(system.url)).toBe(SHARDS);
  const alerts = hook.requests.map(({ json }) => json as { monitor: { id: number }; status: string });
  expect(alerts.map(({ monitor, status }) => `${monitor.id} ${status}`).toSorted()).toEqual(
    ids.map((id) => `${id} error`).toSorted(),
  );
  for (const id of ids) {
    const { data } = await ask<{ data: { outcome: string }[] }>(
      system.url,
      'GET',
      `/v1/monitors/${id}/results`,
    );
    expect(data.map(({ outcome }) => outcome)).toEqual(['failed']);
  }
});
