/**
 * Measures the time to the first byte of the dashboard's pages with 10,000 monitors:
 *
 *     node test/bench/dashboard.ts [requests]
 *
 * The service's part that serves pages runs in a process of its own, over a database on disk,
 * with its threads. The requests use one connection that stays open, one after the other.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { STORE_THREADS } from '@svc/coordinator/store/sqlite/store-threads.ts';
import { addLatency, emptyHistogram, encodeHistogram } from '@svc/coordinator/verdict/latency-histogram.ts';
import { gridSlotFrom, phaseOf } from '@svc/coordinator/verdict/schedule.ts';
import { DAY_MS, HOUR_MS } from '@svc/coordinator/verdict/summary-range.ts';
import { parseResource } from '@svc/shared/resources/registry.ts';
import { type RunningApi, startApi } from '../support/api.ts';
import { addResults } from '../support/recorded-results.ts';
import { cpuMs, percentile } from './process-usage.ts';
import { formatTable } from './table.ts';

const MONITORS = 10_000;
const PER_TRANSACTION = 500;
/** Number of monitors of the largest maintenance window. */
const HELD = 2_000;
const PERIOD_MS = 60_000;
const PAGES = 20;
const COMPONENTS = 50;
const REGIONS = ['hosta-fra', 'hosta-iad', 'hosta-sin'] as const;
const STATES = ['active', 'active', 'active', 'active', 'degraded', 'error'] as const;

type Ready = { readonly url: string; readonly token: string };

/** The process of the dashboard. */
async function serve(): Promise<void> {
  const api = await startApi({ rate: { perSecond: 1e9, atOnce: 1e9 } }, {}, STORE_THREADS);
  await addMonitors(api);
  await addStates(api);
  await addHistory(api, 1);
  await addRecentHistory(api);
  await addNotes(api);
  process.once('disconnect', () => void api.dispose().then(() => process.exit()));
  process.send?.({ url: api.url, token: api.operator } satisfies Ready);
}

async function addMonitors({ configuration, workspaceId }: RunningApi): Promise<void> {
  const context = { workspaceId, actor: 'api' } as const;
  for (let first = 0; first < MONITORS; first += PER_TRANSACTION) {
    await configuration.transaction(context, async (change) => {
      for (let number = first; number < first + PER_TRANSACTION; number += 1) {
        const parsed = parseResource('svc_http_monitor', monitor(number), 'api');
        if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
        await change.create('svc_http_monitor', parsed.value);
      }
    });
  }
}

function monitor(number: number): object {
  return {
    type: 'http',
    name: `Service ${(number * 7_919) % MONITORS} in the shop`,
    url: `https://service-${number}.example.com/health?with=some&more=text`,
    periodicity: '1m',
    active: number % 50 !== 0,
    public: true,
    regions: REGIONS,
    headers: [{ key: 'Accept', value: 'application/json' }],
    status_code_assertions: [{ target: 200, comparator: 'eq' }],
  };
}

async function addStates({ store, clock }: RunningApi): Promise<void> {
  const rows = Array.from({ length: MONITORS }, (_, index) => [
    index + 1,
    STATES[index % STATES.length] ?? 'active',
    clock.wall() - ((index * 7_919) % 90) * HOUR_MS,
  ]);
  await store.transaction((tx) =>
    tx.runEach('INSERT INTO monitor_states (monitor_id, status, since) VALUES (?, ?, ?)', rows),
  );
}

/** Adds results of one day and roll-ups of 90 days to one monitor. */
async function addHistory({ store, clock }: RunningApi, id: number): Promise<void> {
  const now = clock.wall();
  const first = gridSlotFrom(now - DAY_MS, PERIOD_MS, phaseOf(id, PERIOD_MS));
  const results = Array.from(
    { length: DAY_MS / PERIOD_MS - 1 },
    (_, index) => first + index * PERIOD_MS,
  ).flatMap((slot) =>
    REGIONS.map((region) => {
      const latency = 40 + (Math.floor(slot / PERIOD_MS) % 60);
      const found = { outcome: 'passed', latency, status_code: 200, agent: 'agent-1' } as const;
      return { ...found, slot, monitor_id: id, region };
    }),
  );
  const histogram = emptyHistogram();
  for (let turn = 0; turn < 60; turn += 1) addLatency(histogram, 40 + turn);
  const latency = encodeHistogram(histogram);
  const rollups = (step: number, count: number) =>
    Array.from({ length: count }, (_, index) => Math.floor(now / step) * step - (index + 1) * step).flatMap(
      (at) => REGIONS.map((region) => [id, at, region, latency]),
    );
  await addResults(store, ...results);
  await store.transaction(async (tx) => {
    await tx.runEach('UPDATE monitors SET created_at = ?, activated_at = ? WHERE id = ?', [
      [now - 90 * DAY_MS, now - 90 * DAY_MS, id],
    ]);
    await tx.runEach('INSERT INTO rollup_hours VALUES (?, ?, ?, 59, 1, 0, 0, ?)', rollups(HOUR_MS, 14 * 24));
    await tx.runEach('INSERT INTO rollup_days VALUES (?, ?, ?, 1439, 1, 0, 0, ?)', rollups(DAY_MS, 90));
  });
}

/** Adds what the list shows of each monitor: 90 days of uptime, 24 hours of latencies, and a change each day. */
async function addRecentHistory({ store, clock }: RunningApi): Promise<void> {
  const now = clock.wall();
  const before = (step: number, count: number) =>
    Array.from({ length: count }, (_, index) => Math.floor(now / step) * step - (index + 1) * step);
  const histogram = emptyHistogram();
  for (let turn = 0; turn < 60; turn += 1) addLatency(histogram, 40 + turn);
  const latency = encodeHistogram(histogram);
  const ofEach: readonly (readonly [sql: string, rows: (string | number | Uint8Array | null)[][]])[] = [
    ['uptime_days SELECT id, ?, 86000000, 100000, 300000', before(DAY_MS, 90).map((at) => [at])],
    [
      'rollup_hours SELECT id, ?, ?, 59, 1, 0, 0, ?',
      before(HOUR_MS, 24).flatMap((at) => REGIONS.map((region) => [at, region, latency])),
    ],
    [
      `transitions (monitor_id, from_status, to_status, reason, at, votes)
        SELECT id, 'unknown', 'active', 'all-passed', ?, '[]'`,
      before(DAY_MS, 90).map((at) => [at]),
    ],
  ];
  for (const [sql, rows] of ofEach) {
    const statement = `INSERT INTO ${sql} FROM monitors WHERE true ON CONFLICT DO NOTHING`;
    for (const row of rows) await store.transaction((tx) => tx.runEach(statement, [row]));
  }
  const progress = [[Math.floor(now / HOUR_MS) * HOUR_MS, Math.floor(now / DAY_MS) * DAY_MS]];
  await store.transaction((tx) =>
    tx.runEach(
      'INSERT INTO rollup_progress (id, hour, phase, day, after_monitor) VALUES (1, ?, 0, ?, 0)',
      progress,
    ),
  );
}

/** Adds status pages, incidents of monitors and of people, and windows of few and of many monitors. */
async function addNotes({ create, store, workspaceId }: RunningApi): Promise<void> {
  for (let page = 1; page <= PAGES; page += 1) {
    const id = await create('/v1/status-pages', { title: `Page ${page}`, slug: `page-${page}` });
    for (let index = 1; index <= COMPONENTS; index += 1) {
      const body = { type: 'monitor', monitor_id: String(page * 100 + index), order: index };
      await create(`/v1/status-pages/${id}/components`, body);
    }
  }
  const incidents = Array.from({ length: 200 }, (_, index) => [
    index * 37 + 1,
    workspaceId,
    `key-${index}`,
    index,
  ]);
  await store.transaction((tx) =>
    tx.runEach(
      'INSERT INTO incidents (monitor_id, workspace_id, key, opened_at) VALUES (?, ?, ?, ?)',
      incidents,
    ),
  );
  const at = {
    starts_at: '2025-12-31T20:00:00Z',
    ends_at: '2026-01-01T04:00:00Z',
    time_zone: 'Europe/Berlin',
  };
  const held = Array.from({ length: HELD }, (_, index) => String(index * 5 + 1));
  await create('/v1/maintenance-windows', { ...at, title: 'Many', monitor_ids: held });
  for (let index = 0; index < 100; index += 1) {
    const repeat = { frequency: 'weekly' };
    await create('/v1/maintenance-windows', {
      ...at,
      title: `Window ${index}`,
      repeat,
      monitor_ids: [held[index]],
    });
  }
  await create('/v1/notifications', {
    ...{ name: 'Hook', provider_type: 'webhook', webhook: { endpoint: 'https://hook.example/' } },
    monitor_ids: held,
  });
}

const PATHS: readonly (readonly [name: string, path: string])[] = [
  ...(['state', 'name', '-name', 'since', '-since'] as const).flatMap(
    (sort): (readonly [string, string])[] => [
      [`overview by ${sort}`, `/?sort=${sort}`],
      [`overview by ${sort}, last page`, `/?sort=${sort}&offset=9950`],
    ],
  ),
  ['overview, down', '/?state=error'],
  ['overview, under maintenance', '/?maintenance=true'],
  ['overview, under maintenance, last page', '/?maintenance=true&sort=name&offset=1950'],
  ['overview, muted', '/?muted=true'],
  ['overview, acknowledged', '/?acknowledged=true'],
  ['overview, search', '/?name=service%2099'],
  ['overview, search that finds all', '/?name=service&sort=name&offset=9000'],
  ['overview, search that finds nothing', '/?name=nothing'],
  ['palette', '/palette?q=service%201'],
  ['monitor', '/monitors/1'],
  ['results of a monitor', '/monitors/1/results'],
  ['what if, before a replay', '/monitors/1/what-if'],
  ['form of a monitor', '/monitors/1/edit'],
  ['form of a new monitor', '/monitors/new?type=http'],
  ['form of a channel of 2,000 monitors', '/channels/1/edit'],
  ['form of a component', '/pages/1/components/1'],
  ['form of a new window', '/maintenance/new'],
  ['form of a window of 2,000 monitors', '/maintenance/1/edit'],
  ['window of 2,000 monitors', '/maintenance/1'],
  ['maintenance', '/maintenance'],
  ['incidents', '/incidents'],
  ['incident', '/incidents/1'],
  ['form of a new incident', '/incidents/new'],
  ['editor of a status page', '/pages/1'],
  ['status pages', '/pages'],
  ['channels', '/channels'],
  ['regions', '/regions'],
  ['service', '/service'],
  ['audit trail', '/audit'],
];

/** The cookie of a session that was opened with the token. */
async function logIn({ url, token }: Ready): Promise<string> {
  const cookiesOf = (response: Response) =>
    response.headers
      .getSetCookie()
      .map((each) => each.split(';', 1)[0])
      .join('; ');
  const form = await fetch(`${url}/login`);
  const formToken = /name="form_token" value="([^"]+)"/.exec(await form.text())?.[1] ?? '';
  const answer = await fetch(`${url}/login`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie: cookiesOf(form) },
    body: new URLSearchParams({ form_token: formToken, token }),
  });
  if (answer.status !== 303) throw new Error(`the login answered ${answer.status}`);
  return cookiesOf(answer);
}

/** Measures the time until the first byte of a page, ms. */
async function firstByte(url: string, agent: Agent, cookie: string): Promise<{ ms: number; bytes: number }> {
  const startedAt = performance.now();
  const request = get(url, { agent, headers: { cookie, accept: 'text/html' } });
  const [response] = await once(request, 'response');
  let ms = 0;
  let bytes = 0;
  for await (const part of response) {
    if (bytes === 0) ms = performance.now() - startedAt;
    bytes += part.length;
  }
  if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}`);
  return { ms, bytes };
}

async function measure(count: number, wanted: string | undefined): Promise<void> {
  const server: ChildProcess = fork(import.meta.filename, ['serve']);
  const [ready] = (await once(server, 'message')) as [Ready];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const cookie = await logIn(ready);
  const rows: string[][] = [];
  for (const [name, path] of PATHS.filter(([name]) => wanted === undefined || name.includes(wanted))) {
    for (let turn = 0; turn < 5; turn += 1) await firstByte(`${ready.url}${path}`, agent, cookie);
    const before = cpuMs(server.pid ?? 0);
    const taken: number[] = [];
    let size = 0;
    for (let turn = 0; turn < count; turn += 1) {
      const { ms, bytes } = await firstByte(`${ready.url}${path}`, agent, cookie);
      taken.push(ms);
      size = bytes;
    }
    const cpu = (cpuMs(server.pid ?? 0) - before) / count;
    const times = [percentile(taken, 0.5), percentile(taken, 0.95), Math.max(...taken), cpu];
    rows.push([name, ...times.map((ms) => ms.toFixed(1)), (size / 1_000).toFixed(0)]);
  }
  console.log(
    formatTable([`${MONITORS} monitors`, 'p50, ms', 'p95, ms', 'worst, ms', 'CPU each, ms', 'kB'], rows),
  );
  agent.destroy();
  server.disconnect();
  await once(server, 'exit');
}

if (process.argv[2] === 'serve') await serve();
else await measure(Number(process.argv[2] ?? 40), process.argv[3]);
