/**
 * Two coordinators share a PostgreSQL database and a NATS server. One leads, both
 * serve the API, and the other one takes over when the leader stops or is cut off.
 */
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type Clock, systemClock } from '@svc/shared/clock.ts';
import type { Region } from '@svc/shared/regions.ts';
import { Secret } from '@svc/shared/secret.ts';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { type HeldLink, startHeldLink } from '../support/held-link.ts';
import type { HttpTarget } from '../support/http-target.ts';
import type { LocalService } from '../support/local-service.ts';
import { type NatsProxy, startNatsProxy } from '../support/nats-proxy.ts';
import { type NatsServer, startNatsServer } from '../support/nats-server.ts';
import { openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import type { Receiver } from '../support/receiver.ts';
import { ScaledClock } from '../support/scaled-clock.ts';

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.dispose());

const well = (response: ServerResponse) => response.end('ok');
const failing = (response: ServerResponse) => {
  response.statusCode = 503;
  response.end();
};

type Pair = {
  readonly first: LocalService;
  readonly second: LocalService;
  readonly web: HttpTarget;
  readonly hook: Receiver;
  /** The link between the first coordinator and the database. */
  readonly link: HeldLink;
  readonly nats: NatsServer;
  /** The link between the first coordinator and NATS. */
  readonly natsLink: NatsProxy;
  /** The address of the database that both share. */
  readonly database: Secret;
  readonly monitor: string;
};

let databases = 0;

/**
 * Two coordinators, of which the first leads. A monitor and its channel are declared at the second.
 *
 * @param leaseClock the lease clock of the second
 */
async function pairIn(context: TestContext, leaseClock: Clock = systemClock): Promise<Pair> {
  const opened = openedIn(context);
  const [web, hook] = [await targetIn(opened), await receiverIn(opened)];
  web.answerWith(well);
  databases += 1;
  const database = `pair_${databases}`;
  await postgres.run(`CREATE DATABASE ${database}`);
  const nats = await startNatsServer();
  opened.push({ close: () => nats.dispose() });
  const natsLink = await startNatsProxy(nats.port);
  opened.push(natsLink);
  const link = await startHeldLink(postgres.port);
  opened.push(link);
  const shared = { clock: new ScaledClock(10), declared: {} };
  const url = postgres.url(database);
  const throughLink = new Secret(`postgres://svc@127.0.0.1:${link.port}/${database}`);
  const natsThroughLink = `nats://127.0.0.1:${natsLink.port}`;
  const first = await serviceIn(opened, {
    ...shared,
    natsUrl: natsThroughLink,
    database: throughLink,
    regions: [],
  });
  const second = await serviceIn(opened, {
    ...shared,
    leaseClock,
    natsUrl: nats.url,
    database: url,
    regions: REGIONS,
  });
  expect([await isLeading(first), await isLeading(second)]).toEqual([true, false]);
  const monitor = await created(second, '/v1/monitors', {
    type: 'http',
    name: 'Web',
    url: web.url,
    periodicity: '30s',
    active: true,
    retry: 0,
    regions: REGIONS,
  });
  await created(second, '/v1/notifications', {
    name: 'Hook',
    provider_type: 'webhook',
    webhook: { endpoint: hook.url },
    monitor_ids: [monitor],
  });
  await first.changed('Web', 'active');
  return { first, second, web, hook, link, nats, natsLink, monitor, database: url };
}

async function created(service: LocalService, path: string, body: object): Promise<string> {
  const answer = await service.request('POST', path, body);
  expect(answer).toMatchObject({ status: 201 });
  return (answer.body as { id: string }).id;
}

const isLeading = async (service: LocalService) => (await service.metric('svc_leading')) === 1;

async function untilLeading(service: LocalService): Promise<void> {
  while (!(await isLeading(service))) await delay(100);
}

/** The term under which the shard is led; '': the last leader has resigned. */
async function termIn({ database }: Pair): Promise<string> {
  const client = new pg.Client({ connectionString: database.reveal() });
  await client.connect();
  try {
    const { rows } = await client.query<{ term: string }>('SELECT term FROM shards');
    return rows[0]?.term ?? '';
  } finally {
    await client.end();
  }
}

/**
 * Stops the leader and asserts that it has resigned, so that the other coordinator need not wait until the
 * lease expires.
 */
async function stopLeader(leader: LocalService, pair: Pair): Promise<void> {
  const term = await termIn(pair);
  await leader.stopCoordinator();
  expect(await termIn(pair)).not.toBe(term);
}

const told = ({ hook }: Pair) => hook.requests.map(({ json }) => (json as { status: string }).status);

type Shown = { status: string; regions_status: { region: string; slot: number }[] };
const shown = (service: LocalService, { monitor }: Pair) => service.get<Shown>(`/v1/monitors/${monitor}`);

type Result = { cron_timestamp: number; region: string; outcome: string };

/** Resolves when a slot after now was reported by all regions. */
async function checkedAgain(service: LocalService, { monitor }: Pair): Promise<Result[]> {
  const since = service.clock.wall();
  for (;;) {
    const { data } = await service.get<{ data: Result[] }>(`/v1/monitors/${monitor}/results?limit=100`);
    const isNew = ({ cron_timestamp: slot, outcome }: Result) => slot > since && outcome !== 'not_run';
    if (data.filter(isNew).length >= REGIONS.length) return data;
    await delay(50);
  }
}

describe.concurrent('two coordinators', () => {
  test('both show what one has recorded, and apply what the other one declares', async (context) => {
    const pair = await pairIn(context);
    const { first, second, web, hook } = pair;
    web.answerWith(failing);
    await hook.received(1);
    const [one, other] = [await shown(first, pair), await shown(second, pair)];
    expect([one.status, other.status]).toEqual(['error', 'error']);
    expect(other.regions_status.map(({ region }) => region)).toEqual(REGIONS);
    // The coordinator that does not lead hears no agents. It must not report that they are gone.
    const told = async (service: LocalService) => {
      const { data } = await service.get<{ data: { absent_since: number | null }[] }>('/v1/regions');
      const { leading, another_leads } = await service.get<Record<string, unknown>>('/v1/system');
      return { absent: data.filter(({ absent_since }) => absent_since !== null), leading, another_leads };
    };
    expect(await told(first)).toEqual({ absent: [], leading: true, another_leads: false });
    expect(await told(second)).toEqual({ absent: [], leading: false, another_leads: true });
    // The coordinator that does not lead refuses the operations of a leader.
    const run = await second.request('POST', `/v1/monitors/${pair.monitor}/check`);
    expect(run).toMatchObject({ status: 503, body: { detail: expect.stringContaining('does not lead') } });
    expect((await first.request('POST', `/v1/monitors/${pair.monitor}/check`)).status).toBe(200);
  });

  test('a token that one has revoked is refused by the other one within 1 s, and one that it made is accepted', async (context) => {
    const { first, second } = await pairIn(context);
    const statusFor = async (service: LocalService, token: string) => {
      const headers = { authorization: `Bearer ${token}` };
      const { status } = await fetch(`${service.url}/v1/monitors`, { headers });
      return status;
    };
    for (const [one, other] of [
      [first, second],
      [second, first],
    ] as const) {
      const made = await one.request('POST', '/v1/tokens', { name: 'ci', scope: 'read' });
      const { id, token } = made.body as { id: string; token: string };
      await expect.poll(() => statusFor(other, token)).toBe(200);
      await one.request('DELETE', `/v1/tokens/${id}`);
      await expect.poll(() => statusFor(other, token)).toBe(401);
    }
  });

  test('after a clean stop the other one leads without waiting for a lease to expire, and goes on with the incident', async (context) => {
    const pair = await pairIn(context);
    const { first, second, web, hook } = pair;
    web.answerWith(failing);
    await hook.received(1);
    await stopLeader(first, pair);
    await untilLeading(second);
    await checkedAgain(second, pair);
    web.answerWith(well);
    await hook.received(2);
    expect(told(pair)).toEqual(['error', 'recovered']);

    // The first coordinator comes back, and does not lead.
    await first.startCoordinator();
    expect([await isLeading(first), await isLeading(second)]).toEqual([false, true]);
    await stopLeader(second, pair);
    await untilLeading(first);
    const results = await checkedAgain(first, pair);
    const keys = results.map(({ cron_timestamp, region }) => `${cron_timestamp} ${region}`);
    expect(new Set(keys).size).toBe(keys.length);
    expect(told(pair)).toEqual(['error', 'recovered']);
  });

  test('a leader that stops says so over NATS, and the other one does not wait for its next look', async (context) => {
    // With this clock, no pause ends by itself.
    const pair = await pairIn(context, { ...systemClock, after: () => () => {} });
    await stopLeader(pair.first, pair);
    await untilLeading(pair.second);
    await checkedAgain(pair.second, pair);
  });

  test('a leader that is cut off from the database is replaced, and learns it with its first write', async (context) => {
    const pair = await pairIn(context);
    const { first, second, web, hook, link } = pair;
    link.hold();
    web.answerWith(failing);
    await untilLeading(second);
    const whileCutOff = await isLeading(first);
    await hook.received(1);
    await checkedAgain(second, pair);
    const stops =
      'another coordinator has taken the lease, or the database has lost writes: this one stops leading';
    expect(first.said.has(stops)).toBe(false);
    // Only now do the first coordinator's statements, which the link held back, reach the database.
    link.release();
    while (!first.said.has(stops)) await delay(100);
    expect([whileCutOff, first.said.get(stops)]).toEqual([false, 1]);
    expect((await shown(first, pair)).status).toBe('error');
    await stopLeader(second, pair);
    await untilLeading(first);
    web.answerWith(well);
    await hook.received(2);
    expect(told(pair)).toEqual(['error', 'recovered']);
  });

  test('what is read while a leader is late is of use only if the leader does not write again', async (context) => {
    const pair = await pairIn(context);
    const { second, web, hook, link } = pair;
    link.hold();
    while (!second.said.has('the leader of a shard is late: this coordinator reads its data'))
      await delay(100);
    link.release();
    web.answerWith(failing);
    await hook.received(1);
    link.hold();
    await untilLeading(second);
    web.answerWith(well);
    // If the first coordinator could not record that the alert was sent, the second one sends it again.
    while (!told(pair).includes('recovered')) await delay(100);
    expect(told(pair)[0]).toBe('error');
    link.release();
  });

  test('a leader that is cut off from NATS alone lets the other one lead', async (context) => {
    const pair = await pairIn(context);
    const { first, second, web, hook, nats, natsLink } = pair;
    // Nothing listens at port 1.
    natsLink.lead(1);
    natsLink.cut();
    await untilLeading(second);
    web.answerWith(failing);
    await hook.received(1);
    await checkedAgain(second, pair);
    expect(await isLeading(first)).toBe(false);
    // The first coordinator can lead again when it has NATS again.
    natsLink.lead(nats.port);
    while (!first.said.has('connected to NATS again')) await delay(100);
    await stopLeader(second, pair);
    await untilLeading(first);
    web.answerWith(well);
    await hook.received(2);
    expect(told(pair)).toEqual(['error', 'recovered']);
  });

  test('without NATS for both, one of them leads all the same, and then the one that has NATS again', async (context) => {
    const pair = await pairIn(context);
    const { first, second, nats, natsLink, hook } = pair;
    // Nothing listens at port 1.
    natsLink.lead(1);
    await nats.stop();
    // On this clock, 200 s are 20 s of real time. That is longer than a leader waits for NATS, and longer
    // than a coordinator without NATS leaves a free lease to others.
    await new Promise<void>((resolve) => first.clock.after(200_000, resolve));
    while (!(await isLeading(first)) && !(await isLeading(second))) await delay(100);
    await nats.restart();
    await untilLeading(second);
    await checkedAgain(second, pair);
    expect(hook.requests).toEqual([]);
  });
});
