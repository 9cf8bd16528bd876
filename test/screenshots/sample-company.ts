import { addLatency, emptyHistogram, encodeHistogram } from '@svc/coordinator/verdict/latency-histogram.ts';
import type { MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import { DAY_MS, dayOf, HOUR_MS, hourOf } from '@svc/coordinator/verdict/summary-range.ts';
import type { Region } from '@svc/shared/regions.ts';
import type { RunningApi } from '../support/api.ts';
import { addSampleHistory } from '../support/sample-history.ts';
import { addRows } from '../support/store-rows.ts';

const MINUTE_MS = 60_000;
/** Days of history before today. */
const DAYS = 90;
const REGIONS = ['hosta-fra', 'hostb-par', 'hostc-us-east4'] as const satisfies Region[];

/** A monitor of the sample, beside that of {@link addSampleHistory}. */
type SampleMonitor = {
  readonly name: string;
  readonly target:
    | { readonly type: 'http'; readonly url: string }
    | { readonly type: 'tcp' | 'dns'; readonly uri: string };
  /** The status of now, and for how long; null: it has been active for all of its history. */
  readonly now?: { readonly status: MonitorStatus; readonly forMs: number };
  readonly isPaused?: boolean;
  /** The group of its component; null: the status page does not show it. */
  readonly group: string | null;
};

const http = (url: string): SampleMonitor['target'] => ({ type: 'http', url });

const MONITORS: readonly SampleMonitor[] = [
  { name: 'Checkout', target: http('https://shop.example/checkout/health'), group: 'Shop' },
  {
    name: 'Search',
    target: http('https://search.shop.example/'),
    now: { status: 'degraded', forMs: 38 * MINUTE_MS },
    group: 'Shop',
  },
  { name: 'Customer accounts', target: http('https://accounts.shop.example/'), group: 'Shop' },
  { name: 'Orders', target: http('https://api.shop.example/v2/orders'), group: 'API' },
  { name: 'Webhooks', target: http('https://hooks.shop.example/ready'), group: 'API' },
  { name: 'Mail', target: { type: 'tcp', uri: 'mail.shop.example:25' }, group: null },
  {
    name: 'Warehouse database',
    target: { type: 'tcp', uri: 'db.warehouse.example:5432' },
    now: { status: 'error', forMs: 6 * MINUTE_MS },
    group: null,
  },
  { name: 'Name servers', target: { type: 'dns', uri: 'shop.example' }, group: null },
  { name: 'Former shop', target: http('https://old.shop.example/'), isPaused: true, group: null },
];

/** Numbers from 0 to 1, the same after each start (a linear congruential generator of Numerical Recipes). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** What the pictures show, by path. */
export type SampleCompany = { readonly monitorPath: string; readonly statusPath: string };

/**
 * Declares a company as it would be after 90 days: monitors that are up, degraded, down and paused, a status page with
 * groups, a slow service with updates, former outages, a maintenance window to come, agents, and a channel. The same for
 * each call at the same time of the clock.
 */
export async function addSampleCompany(api: RunningApi): Promise<SampleCompany> {
  const shop = await addSampleHistory(api);
  const now = api.clock.wall();
  const ids = new Map([['Shop', shop]]);
  await addState(api, shop, { status: 'active', since: now - 2 * HOUR_MS - 48 * MINUTE_MS });
  const random = seeded(7);
  for (const monitor of MONITORS) ids.set(monitor.name, await addMonitor(api, monitor, random));
  const page = await addStatusPage(api, ids);
  // Incidents are listed by the order in which they came to be known.
  await addIncidentsOfChanges(api, shop, now - 4 * DAY_MS);
  await addFormerIncident(api, page);
  await addIncidentsOfChanges(api, shop, now);
  for (const monitor of MONITORS) await addDisruption(api, ids.get(monitor.name) ?? 0, monitor);
  await addNotes(api, page, ids);
  const agent = { version: '0.1.0', capacity: 4_000, loopDelayMs: 1, isDraining: false, sicknesses: [] };
  REGIONS.forEach((region, index) => {
    const seen = { machine: `probe-${index + 1}`, lastSeenWall: now - 2_000 };
    api.agents.set(region, [{ id: `${region}-1`, ...agent, running: 3 + index, ...seen }]);
  });
  return { monitorPath: `/monitors/${shop}`, statusPath: '/status/example-shop' };
}

/** The sample history has changes alone. Adds the incidents of those that ended by then and were not added yet. */
function addIncidentsOfChanges(api: RunningApi, id: number, until: number) {
  return api.store.commit([
    {
      sql: `INSERT INTO incidents (key, workspace_id, monitor_id, opened_at, closed_at)
        SELECT incident, ${api.workspaceId}, monitor_id, min(at), max(at) FROM transitions
        WHERE monitor_id = ? AND incident NOT IN (SELECT key FROM incidents WHERE key IS NOT NULL)
        GROUP BY incident, monitor_id HAVING max(at) <= ?`,
      rows: [[id, until]],
    },
  ]);
}

async function addMonitor(api: RunningApi, monitor: SampleMonitor, random: () => number): Promise<number> {
  const { name, target, isPaused = false, group, now: current } = monitor;
  const settings = { ...target, name, periodicity: '1m', regions: REGIONS };
  const attributes = { ...settings, active: !isPaused, public: group !== null };
  const id = Number(await api.create('/v1/monitors', attributes));
  if (isPaused) return id;
  const now = api.clock.wall();
  await addDays(api, id, random);
  await addHours(api, id, random);
  const since = now - (DAYS + 5) * DAY_MS;
  await addChange(api, id, { from: 'unknown', to: 'active', at: since });
  if (current === undefined) await addState(api, id, { status: 'active', since });
  return id;
}

/** The status of now and its incident, where a monitor is not active. */
async function addDisruption(api: RunningApi, id: number, { now: current }: SampleMonitor): Promise<void> {
  if (current === undefined) return;
  const at = api.clock.wall() - current.forMs;
  const incident = `incident-${id}-${at}`;
  await addChange(api, id, { from: 'active', to: current.status, at, incident });
  await addState(api, id, { status: current.status, since: at });
  await addRows(api.store, 'incidents', {
    ...{ key: incident, workspace_id: api.workspaceId, monitor_id: id },
    ...{ opened_at: at, closed_at: null, closure: null, title: null },
  });
}

/** Most days are without a disruption, some have minutes of one. */
function addDays(api: RunningApi, id: number, random: () => number) {
  const today = dayOf(api.clock.wall());
  const rows = Array.from({ length: DAYS }, (_, index) => {
    const [error, degraded] = [random() < 0.02, random() < 0.04].map((isSo) =>
      isSo ? Math.round(2 + random() * 40) * MINUTE_MS : 0,
    ) as [number, number];
    const active_ms = DAY_MS - error - degraded;
    return {
      monitor_id: id,
      at: today - (index + 1) * DAY_MS,
      active_ms,
      degraded_ms: degraded,
      error_ms: error,
    };
  });
  return addRows(api.store, 'uptime_days', ...rows);
}

/** The latencies of the last 24 hours that are rolled up. */
function addHours(api: RunningApi, id: number, random: () => number) {
  const hour = hourOf(api.clock.wall() - 6 * MINUTE_MS);
  const usual = 15 + random() * 120;
  const rows = Array.from({ length: 24 }, (_, index) => {
    const histogram = emptyHistogram();
    const wave = 1 + 0.25 * Math.sin((index / 24) * 2 * Math.PI);
    for (let each = 0; each < 60; each += 1) addLatency(histogram, usual * wave * (0.9 + 0.3 * random()));
    return {
      ...{ monitor_id: id, at: hour - (index + 1) * HOUR_MS, region: REGIONS[0] },
      ...{ passed: 60, degraded: 0, failed: 0, not_run: 0, latency: encodeHistogram(histogram) },
    };
  });
  return addRows(api.store, 'rollup_hours', ...rows);
}

type Change = { from: MonitorStatus; to: MonitorStatus; at: number; incident?: string };

function addChange(api: RunningApi, id: number, { from, to, at, incident = '' }: Change) {
  return addRows(api.store, 'transitions', {
    ...{ monitor_id: id, from_status: from, to_status: to, at, slot: at, votes: '[]' },
    ...{ reason: to === 'active' ? 'all-passed' : to === 'error' ? 'majority-failed' : 'majority-degraded' },
    ...{ incident: incident === '' ? null : incident, until: null, slots: null },
  });
}

function addState(api: RunningApi, id: number, state: { status: MonitorStatus; since: number }) {
  const nothingElse = { incident: null, reason: null, version: null };
  return addRows(api.store, 'monitor_states', { monitor_id: id, ...state, ...nothingElse });
}

/** The status page, and its components by the names of their monitors. */
type SamplePage = { readonly id: string; readonly components: ReadonlyMap<string, string> };

async function addStatusPage(api: RunningApi, ids: ReadonlyMap<string, number>): Promise<SamplePage> {
  const pageId = await api.create('/v1/status-pages', {
    ...{ title: 'Example Shop', slug: 'example-shop' },
    description: 'Our shop and its API, measured from Frankfurt, Paris and Virginia.',
    ...{ homepage_url: 'https://shop.example/', contact_url: 'mailto:support@shop.example' },
  });
  const groups = new Map<string, string>();
  for (const name of ['Shop', 'API'])
    groups.set(name, await api.create(`/v1/status-pages/${pageId}/component-groups`, { name }));
  const shown = [{ name: 'Shop', group: 'Shop' }, ...MONITORS.filter(({ group }) => group !== null)];
  const components = new Map<string, string>();
  for (const [order, { name, group }] of shown.entries()) {
    const monitor_id = String(ids.get(name));
    const place = { group_id: groups.get(group ?? ''), group_order: order, order };
    // The group has the name of the monitor already.
    const own = name === 'Shop' ? { name: 'Storefront' } : {};
    const body = { type: 'monitor', monitor_id, ...place, ...own };
    components.set(name, await api.create(`/v1/status-pages/${pageId}/components`, body));
  }
  const help = { type: 'static', name: 'Customer service', description: 'Monday to Friday, 9 to 17 h' };
  await api.create(`/v1/status-pages/${pageId}/components`, { ...help, order: 20 });
  return { id: pageId, components };
}

const before = (api: RunningApi, ms: number) => new Date(api.clock.wall() - ms).toISOString();

/** One that people wrote. */
async function addFormerIncident(api: RunningApi, { id, components }: SamplePage): Promise<void> {
  const affected = { component_ids: [components.get('Checkout')] };
  const payments = await api.create('/v1/incidents', {
    ...{ title: 'Payments by card were refused', impact: 'partial_outage', page_ids: [id] },
    ...{ state: 'investigating', text: 'Some payments by card are refused. We are looking into it.' },
    ...{ ...affected, at: before(api, 3 * DAY_MS) },
  });
  await api.create(`/v1/incidents/${payments}/updates`, {
    ...{ state: 'resolved', text: 'Our provider has mended it. No order was lost.' },
    ...{ ...affected, at: before(api, 3 * DAY_MS - 52 * MINUTE_MS) },
  });
}

/** An update of the incident that lasts, which somebody looks after, a muted monitor, and maintenance to come. */
async function addNotes(
  api: RunningApi,
  { components }: SamplePage,
  ids: ReadonlyMap<string, number>,
): Promise<void> {
  const { body } = await api.call('GET', `/v1/incidents?monitor_id=${ids.get('Search')}`);
  const search = (body as { data: { id: string }[] }).data[0]?.id;
  await api.create(`/v1/incidents/${search}/updates`, {
    ...{
      state: 'identified',
      text: 'A rebuild of the index slows the search down. It ends within the hour.',
    },
    ...{ component_ids: [components.get('Search')], at: before(api, 21 * MINUTE_MS) },
  });
  await api.call('POST', `/v1/incidents/${search}/acknowledge`, { note: 'The index is being rebuilt.' });
  const until = new Date(api.clock.wall() + 2 * HOUR_MS).toISOString();
  await api.call('POST', `/v1/monitors/${ids.get('Search')}/mute`, { until });
  await api.create('/v1/maintenance-windows', {
    ...{ title: 'Update of the database', text: 'Orders may take some seconds longer.' },
    ...{ starts_at: '2026-07-22T02:00', ends_at: '2026-07-22T03:30', time_zone: 'Europe/Berlin' },
    monitor_ids: [String(ids.get('Orders'))],
  });
}
