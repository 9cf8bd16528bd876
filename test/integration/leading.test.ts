/** Leading ends and begins again in one process, which serves the API all the time. */
import type { ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import type { Region } from '@svc/shared/regions.ts';
import { describe, expect, test } from 'vitest';
import { IS_POSTGRES } from '../support/database.ts';
import { holdRequests } from '../support/held-requests.ts';
import { HeldResources } from '../support/held-resources.ts';
import type { HttpTarget } from '../support/http-target.ts';
import { LocalService } from '../support/local-service.ts';
import { type Opened, openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';
import { scrape } from '../support/prometheus-text.ts';

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];

const monitorOf = (name: string, url: string, attributes: object = {}) => ({
  type: 'http',
  name,
  url,
  periodicity: '30s',
  active: true,
  retry: 0,
  timeout: 120_000,
  regions: REGIONS,
  ...attributes,
});

const hookOf = (url: string, monitorIds: readonly number[]) => ({
  name: 'Hook',
  provider_type: 'webhook',
  webhook: { endpoint: url },
  monitor_ids: monitorIds.map(String),
});

/**
 * Declares the channel as a kind that keeps incidents open. Its vendor does not answer in this test, so
 * queued alerts stay queued.
 */
const incidentsOf = (monitorIds: readonly number[]) => ({
  name: 'Hook',
  provider_type: 'incident_a',
  incident_a: { integration_key: 'k'.repeat(32) },
  monitor_ids: monitorIds.map(String),
});

const failing = (response: ServerResponse) => {
  response.statusCode = 503;
  response.end();
};
const well = (response: ServerResponse) => response.end('ok');

/** The target answers `/good`, never answers `/held`, and fails otherwise. */
function byPath(target: HttpTarget): void {
  target.answerWith((response, path) => {
    if (path === '/good') well(response);
    else if (!path.startsWith('/held')) failing(response);
  });
}

async function started(opened: Opened, observed?: HeldResources): Promise<LocalService> {
  const service = await serviceIn(opened, {
    regions: REGIONS,
    declared: {},
    ...(observed === undefined ? {} : { observe: observed }),
  });
  // Until the memory is returned, the service holds a timer for it. Each agent logs this message too.
  const said = () => service.said.get(MEMORY_RETURNED);
  if (observed !== undefined) await service.until(() => said() === REGIONS.length + 1);
  return service;
}

async function created(service: LocalService, path: string, body: object): Promise<number> {
  const answer = await service.request('POST', path, body);
  expect(answer).toMatchObject({ status: 201 });
  return Number((answer.body as { id: string }).id);
}

async function write(service: LocalService, method: string, path: string, body?: object): Promise<void> {
  const { status } = await service.request(method, path, body);
  expect([method, path, status]).toEqual([method, path, method === 'DELETE' ? 204 : 200]);
}

type Queued = { monitor: number; status: string; closure: string | undefined; incident: string };

/** All queued alerts, in order. */
const queued = async (service: LocalService): Promise<Queued[]> =>
  (await service.query<{ alert: string }>('SELECT alert FROM deliveries ORDER BY id'))
    .map(({ alert }) => JSON.parse(alert) as { monitor: { id: number } } & Omit<Queued, 'monitor'>)
    .map(({ monitor: { id }, status, closure, incident }) => ({ monitor: id, status, closure, incident }));

/** The slots that passed in some regions, in order, each with the number of these regions. */
const passedIn = (service: LocalService, id: number) =>
  service.query<{ slot: number; regions: number }>(
    "SELECT slot, count(*) AS regions FROM results WHERE monitor_id = ? AND outcome = 'passed' GROUP BY slot ORDER BY slot",
    id,
  );

const logged = (service: LocalService) => service.query('SELECT * FROM changes');

const MEMORY_RETURNED = 'the memory that the start left behind is returned to the system';
const NOTHING = { timers: 0, intervals: 0, subscriptions: 0, connectionListeners: 0 };
/**
 * The timers and listeners that stay while no coordinator leads: they save uses of tokens, measure the
 * database, and count lost connections. Where several coordinators may share a database, one more reads the
 * tokens.
 */
const SERVING = { ...NOTHING, intervals: IS_POSTGRES ? 3 : 2, connectionListeners: 1 };

describe.concurrent('leading ends and begins again', () => {
  test('during an incident: nothing is announced twice, and its end once', async (context) => {
    const opened = openedIn(context);
    const [web, hook] = [await targetIn(opened), await receiverIn(opened)];
    const service = await started(opened);
    web.answerWith(failing);
    const id = await created(service, '/v1/monitors', monitorOf('Web', web.url));
    await created(service, '/v1/notifications', hookOf(hook.url, [id]));
    await hook.received(1);
    for (let time = 0; time < 3; time += 1) {
      await service.stopLeading();
      await service.lead();
      await service.decided(id, 1);
    }
    web.answerWith(well);
    await hook.received(2);
    await service.stopLeading();
    await service.lead();
    await service.decided(id, 1);
    expect(hook.requests.map(({ json }) => (json as Queued).status)).toEqual(['error', 'recovered']);
  });

  test('in the middle of a check: its result is recorded', async (context) => {
    const opened = openedIn(context);
    const web = await targetIn(opened);
    const service = await started(opened);
    const requests = holdRequests(service, web, '/');
    const id = await created(service, '/v1/monitors', monitorOf('Web', web.url));
    await requests.areHeld(REGIONS.length);
    const before = service.clock.wall();
    await service.stopLeading();
    web.answerWith(well);
    requests.release(well);
    await service.lead();
    await service.changed('Web', 'active');
    // A majority has decided the slot, and the last region's result may be recorded later.
    await service.until(async () => (await passedIn(service, id))[0]?.regions === REGIONS.length);
    expect((await passedIn(service, id))[0]?.slot).toBeLessThanOrEqual(before);
  });

  test('an hourly monitor whose target is changed meanwhile is checked at once, beside the old check', async (context) => {
    const opened = openedIn(context);
    const web = await targetIn(opened);
    byPath(web);
    const service = await started(opened);
    const hourly = monitorOf('Web', `${web.url}/held`, { periodicity: '1h' });
    const id = await created(service, '/v1/monitors', hourly);
    await service.until(() => web.hits === REGIONS.length);
    await service.stopLeading();
    await write(service, 'PUT', `/v1/monitors/${id}`, { ...hourly, url: `${web.url}/good` });
    const before = service.clock.wall();
    await service.lead();
    await service.changed('Web', 'active');
    expect(service.clock.wall() - before).toBeLessThan(120_000);
    await service.until(async () => (await passedIn(service, id))[0]?.regions === REGIONS.length);
    expect(web.hits).toBe(2 * REGIONS.length);
  });

  test('reads are answered all the time; requests that need a leader are answered, or refused with 503', async (context) => {
    const opened = openedIn(context);
    const [web, hook] = [await targetIn(opened), await receiverIn(opened)];
    web.answerWith(well);
    const service = await started(opened);
    const id = await created(service, '/v1/monitors', monitorOf('Web', web.url, { timeout: 1_000 }));
    const channel = await created(service, '/v1/notifications', hookOf(hook.url, [id]));
    await service.changed('Web', 'active');
    const asked = [
      ['GET', `/v1/monitors/${id}`],
      ['GET', '/v1/monitors'],
      ['GET', '/v1/regions'],
      ['GET', `/v1/monitors/${id}/summary`],
      ['POST', `/v1/monitors/${id}/check`],
      ['POST', `/v1/notifications/${channel}/test`],
    ] as const;
    const answers = new Set<string>();
    const ask = async (method: string, path: string): Promise<void> => {
      // The server's time-out may close a kept connection while the request is on its way.
      const headers = { authorization: `Bearer ${service.token}`, connection: 'close' };
      const response = await fetch(`${service.url}${path}`, { method, headers });
      await response.arrayBuffer();
      const again = response.headers.get('retry-after') === null ? '' : ' again';
      answers.add(`${method} ${path.replace(/\d+/g, 'N')} ${response.status}${again}`);
    };
    let isOver = false;
    const asking = asked.map(async ([method, path]) => {
      while (!isOver) await ask(method, path);
    });
    const statuses: unknown[] = [];
    try {
      for (let time = 0; time < 3; time += 1) {
        await service.stopLeading();
        for (const [method, path] of asked) await ask(method, path);
        statuses.push((await service.get<{ status: string }>(`/v1/monitors/${id}`)).status);
        await service.lead();
      }
    } finally {
      isOver = true;
      await Promise.allSettled(asking);
    }
    await Promise.all(asking);
    // This is the last known status. Later, votes may have aged while no coordinator led.
    expect(statuses[0]).toBe('active');
    for (const [method, path] of asked) await ask(method, path);
    expect([...answers].sort()).toEqual([
      'GET /vN/monitors 200',
      'GET /vN/monitors/N 200',
      'GET /vN/monitors/N/summary 200',
      'GET /vN/regions 200',
      'POST /vN/monitors/N/check 200',
      'POST /vN/monitors/N/check 503 again',
      'POST /vN/notifications/N/test 200',
      'POST /vN/notifications/N/test 503 again',
    ]);
  });

  test('changes meanwhile wait in the log and take effect when leading begins again', async (context) => {
    const opened = openedIn(context);
    const web = await targetIn(opened);
    byPath(web);
    const service = await started(opened);
    const add = (name: string, path: string) =>
      created(service, '/v1/monitors', monitorOf(name, `${web.url}${path}`));
    const off = await add('Off', '/a');
    const gone = await add('Gone', '/b');
    const apart = await add('Apart', '/c');
    const moved = await add('Moved', '/d');
    const channel = await created(service, '/v1/notifications', incidentsOf([off, gone, apart, moved]));
    await service.until(async () => (await queued(service)).length === 4);
    await service.stopLeading();
    const errors = await queued(service);
    const incidentOf = new Map(errors.map(({ monitor, incident }) => [monitor, incident]));

    const put = (monitorIds: readonly number[]) =>
      write(service, 'PUT', `/v1/notifications/${channel}`, incidentsOf(monitorIds));
    await write(service, 'PUT', `/v1/monitors/${off}`, monitorOf('Off', `${web.url}/a`, { active: false }));
    await write(service, 'DELETE', `/v1/monitors/${gone}`);
    await put([off, moved]);
    await write(service, 'PUT', `/v1/monitors/${moved}`, monitorOf('Moved', `${web.url}/good`));
    const made = await add('Made', '/good');
    expect((await logged(service)).length).toBeGreaterThanOrEqual(5);
    expect(await queued(service)).toEqual(errors);
    expect(await service.get(`/v1/monitors/${made}`)).toMatchObject({ status: 'unknown' });
    expect((await service.request('GET', `/v1/monitors/${gone}`)).status).toBe(404);
    const seen = service.transitions.length;

    await service.lead();
    expect(await logged(service)).toEqual([]);
    expect(await service.get(`/v1/monitors/${off}`)).toMatchObject({ status: 'unknown' });
    await service.changed('Made', 'active', seen);
    await service.changed('Moved', 'active', seen);
    const ended = (await queued(service)).slice(errors.length);
    const inOrder = ended.toSorted((a, b) => a.monitor - b.monitor);
    const end = (monitor: number, closure?: string) => ({
      monitor,
      status: 'recovered',
      closure,
      incident: incidentOf.get(monitor),
    });
    expect(inOrder).toEqual([
      end(off, 'monitor-deactivated'),
      end(gone, 'monitor-deleted'),
      end(apart, 'channel-unlinked'),
      end(moved),
    ]);
  });

  test('its resources are released each time, and the declared file has one watcher', async (context) => {
    const opened = openedIn(context);
    const web = await targetIn(opened);
    web.answerWith(well);
    const observed = new HeldResources();
    const service = await started(opened, observed);
    const { name: _name, ...rest } = monitorOf('Web', web.url);
    const declare = (name: string) => ({ svc_http_monitor: { web: { ...rest, type: undefined, name } } });
    await service.reload(declare('Web'));
    await service.changed('Web', 'active');
    const leading = leadingHolds(observed);
    await service.stopLeading();
    expect(observed.now).toEqual(SERVING);
    for (let time = 0; time < 5; time += 1) {
      await service.lead();
      expect(leadingHolds(observed)).toEqual(leading);
      await service.stopLeading();
      expect(observed.now).toEqual(SERVING);
    }

    const applied = () => service.said.get('applied the declared file') ?? 0;
    const before = applied();
    await service.declare(declare('Renamed'));
    expect(await service.idOf('Renamed')).toBe(-1);
    await service.lead();
    expect([(await service.idOf('Renamed')) > 0, applied() - before]).toEqual([true, 1]);
    await service.declare(declare('Renamed again'));
    await service.until(async () => (await service.idOf('Renamed again')) > 0);
    await service.decided(await service.idOf('Renamed again'), 1);
    expect(applied() - before).toBe(2);
  });
});

test('checks are given out while the declared file is still read', async (context) => {
  const opened = openedIn(context);
  const web = await targetIn(opened);
  web.answerWith(well);
  const read = Promise.withResolvers<void>();
  let reading = Promise.resolve();
  const service = await serviceIn(opened, {
    regions: REGIONS,
    declared: {},
    beforeReading: () => reading,
  });
  const id = await created(service, '/v1/monitors', monitorOf('Web', web.url));
  await service.changed('Web', 'active');
  await service.stopLeading();
  reading = read.promise;
  await service.declare({ svc_http_monitor: {} });
  const leading = service.lead();
  await service.decided(id, 1);
  read.resolve();
  await leading;
});

describe.concurrent('an unfinished start', () => {
  test('an invalid declared file at the first start: nothing runs', async () => {
    const observed = new HeldResources();
    const starting = LocalService.start({ regions: [], declared: { svc_unheard: {} }, observe: observed });
    await expect(starting).rejects.toThrow('svc_unheard');
    expect(observed.now).toEqual(NOTHING);
  });

  test('a database that takes no writes: nothing runs, and the start is tried again', async (context) => {
    const opened = openedIn(context);
    const web = await targetIn(opened);
    web.answerWith(well);
    const observed = new HeldResources();
    const service = await started(opened, observed);
    const id = await created(service, '/v1/monitors', monitorOf('Web', web.url));
    await service.changed('Web', 'active');
    await service.stopLeading();
    const other = await service.database.hold();
    await expect(service.lead()).rejects.toMatchObject({ code: 'store-busy' });
    expect(observed.now).toEqual(SERVING);
    expect(await service.get(`/v1/monitors/${id}`)).toMatchObject({ status: 'active' });
    await other.release();
    await service.lead();
    await service.decided(id, 1);
  });

  test('a stop at any moment ends the start, and leaves nothing', async (context) => {
    const opened = openedIn(context);
    const web = await targetIn(opened);
    web.answerWith(well);
    const observed = new HeldResources();
    const service = await started(opened, observed);
    const id = await created(service, '/v1/monitors', monitorOf('Web', web.url));
    await service.changed('Web', 'active');
    await service.stopLeading();
    let ended = 0;
    for (let turns = 0; turns < 200; turns += 1 + Math.floor(turns / 3)) {
      const leading = service.lead().catch((error: { code?: string }) => {
        expect(error.code).toBe('term-ended');
        ended += 1;
      });
      for (let turn = 0; turn < turns; turn += 1) await setImmediate();
      await service.stopLeading();
      await leading;
      expect([turns, leadingHolds(observed)]).toEqual([turns, leadingHolds({ now: SERVING })]);
      // A one-time timer may not have run yet.
      await service.until(() => observed.now.timers === 0);
    }
    expect(ended).toBeGreaterThan(5);
    await service.lead();
    await service.decided(id, 1);
  });

  // PostgreSQL refuses each write after 5 s of real time, one write after the other. So such a stop takes
  // minutes of the service's clock.
  test.skipIf(IS_POSTGRES)(
    'a stop while the database takes no writes answers waiting requests, and ends',
    async (context) => {
      const opened = openedIn(context);
      const web = await targetIn(opened);
      web.answerWith(well);
      const service = await started(opened);
      const id = await created(service, '/v1/monitors', monitorOf('Web', web.url));
      await service.changed('Web', 'active');
      const other = await service.database.hold();
      const writing = service.request('PUT', `/v1/monitors/${id}`, monitorOf('Renamed', web.url));
      await service.stopLeading();
      expect([200, 503]).toContain((await writing).status);
      await other.release();
      await service.lead();
      await service.decided(id, 1);
      expect(await logged(service)).toEqual([]);
    },
  );
});

test('fifty concurrent writers: each is answered after its change has taken effect', async (context) => {
  const opened = openedIn(context);
  const [web, hook] = [await targetIn(opened), await receiverIn(opened)];
  byPath(web);
  const service = await started(opened);
  const ids: number[] = [];
  for (let index = 0; index < 10; index += 1) {
    ids.push(await created(service, '/v1/monitors', monitorOf(`M${index}`, `${web.url}/good`)));
  }
  const channel = await created(service, '/v1/notifications', hookOf(hook.url, ids));
  for (const index of ids.keys()) await service.changed(`M${index}`, 'active');

  const moves = Array.from({ length: 40 }, async (_, index) => {
    const id = ids[index % 8] ?? 0;
    await write(service, 'PUT', `/v1/monitors/${id}`, monitorOf(`M${index % 8}`, `${web.url}/held/${index}`));
    expect(await service.get(`/v1/monitors/${id}`)).toMatchObject({ status: 'unknown' });
  });
  const links = Array.from({ length: 8 }, (_, index) =>
    write(service, 'PUT', `/v1/notifications/${channel}`, hookOf(hook.url, ids.slice(0, index))),
  );
  const removals = ids.slice(8).map(async (id) => {
    await write(service, 'DELETE', `/v1/monitors/${id}`);
    expect((await service.request('POST', `/v1/monitors/${id}/check`)).status).toBe(404);
  });
  await Promise.all([...moves, ...links, ...removals]);
  expect(await logged(service)).toEqual([]);
  const byStatus = [...(await scrape(service.url))].filter(([series]) => series.startsWith('svc_monitors{'));
  expect(byStatus.reduce((sum, [, count]) => sum + count, 0)).toBe(8);
  expect(hook.requests).toEqual([]);
});

/** The intervals, subscriptions and listeners that leading holds. One-time timers are left out. */
function leadingHolds(observed: Pick<HeldResources, 'now'>) {
  const { intervals, subscriptions, connectionListeners } = observed.now;
  return { intervals, subscriptions, connectionListeners };
}
