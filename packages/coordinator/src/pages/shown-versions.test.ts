import { constants, DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RunningApi, startApi, VISITOR_KEY } from '../../../../test/support/api.ts';
import { IS_POSTGRES } from '../../../../test/support/database.ts';
import { writeFetchedIcon } from '../store/pages/page-icons.ts';
import type { Database } from '../store/schema.ts';
import { sqliteDialect } from '../store/sqlite/sqlite-dialect.ts';
import { registerSqlFunctions, Statements } from '../store/sqlite/statements.ts';
import { writeStates, writeVotes } from '../store/states/monitor-states.ts';
import {
  closeIncidents,
  insertIntervals,
  insertTransitions,
  lengthenIntervals,
  openIncidents,
  redateTransitions,
} from '../store/states/transitions.ts';
import type { SqlStep, Store } from '../store/store.ts';
import type { NewTransition, WrittenState } from '../verdict/writes.ts';
import { findVersion, readPage } from './read-page.ts';

/*
 * A cached page is shown while its version is the same. So every write to the data of a page must raise the
 * version, by any writer. The triggers of `migrations/shown-versions.ts` do this.
 */

const ICON = 'https://icons.example/icon.svg';
const PAGE = { title: 'Example', slug: 'example', icon: ICON };
const MONITOR = { type: 'tcp', name: 'API', uri: '127.0.0.1:9', periodicity: '30s', public: true };
const KEY = 'incident-of-the-monitor';

let api: RunningApi;
let monitorId: number;
let pageId: number;
let componentId: string;
/** Paths of objects in the API. */
let page: string;
let group: string;
let component: string;
let incident: string;
let update: string;
let maintenance: string;

const now = () => Math.floor(api.clock.wall());
const record = (...steps: SqlStep[]) => api.store.commit(steps);

function state(changes: Partial<WrittenState> = {}): SqlStep {
  const first: WrittenState = {
    ...{ id: monitorId, status: 'error', since: now(), reason: 'majority-failed', version: 1 },
    ...{ statusSlot: 0, floorSlot: 0, entered: 1, incident: KEY },
  };
  return writeStates([{ ...first, ...changes }]);
}

function transition(changes: Partial<NewTransition> = {}): NewTransition {
  const first = { monitorId, from: 'active', to: 'error', reason: 'majority-failed' } as const;
  return { ...first, at: now(), slot: null, votes: [], incident: KEY, ...changes };
}

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.dispose());

beforeEach(async () => {
  const list = (await api.call('GET', '/v1/status-pages')).body as { data: { id: string }[] };
  for (const { id } of list.data) await api.call('DELETE', `/v1/status-pages/${id}`);
  await record({ sql: 'DELETE FROM incidents', rows: [[]] });
  monitorId = Number(await api.create('/v1/monitors', MONITOR));
  pageId = Number(await api.create('/v1/status-pages', PAGE));
  page = `/v1/status-pages/${pageId}`;
  const named = { page_ids: [String(pageId)] };
  group = `${page}/component-groups/${await api.create(`${page}/component-groups`, { name: 'Group' })}`;
  componentId = await api.create(`${page}/components`, showing());
  component = `${page}/components/${componentId}`;
  const written = { title: 'Power cut', state: 'investigating', text: 'We look into it.', ...named };
  const told = (await api.call('POST', '/v1/incidents', written)).body as { id: string };
  incident = `/v1/incidents/${told.id}`;
  update = `${incident}/updates/${await api.create(`${incident}/updates`, { state: 'identified', text: 'Found.' })}`;
  maintenance = `/v1/maintenance-windows/${await api.create('/v1/maintenance-windows', window(named))}`;
  await icon();
  await api.call('PATCH', `${page}/appearance`, { latency: '24h' });
  api.clock.advance(60_000);
  await record(
    state(),
    openIncidents([{ key: KEY, monitorId, at: now() }]),
    insertTransitions([transition({ at: now() - 1_000 })]),
  );
});

const showing = () => ({ type: 'monitor', monitor_id: String(monitorId) });

function window(more: object) {
  const starts = now() - 1_800_000;
  const [starts_at, ends_at] = [starts, starts + 3_600_000].map((at) => new Date(at).toISOString());
  return { title: 'Work', text: 'On cables', starts_at, ends_at, ...more };
}

function icon(url = ICON) {
  const tried = { pageId, url, validator: null, problem: null, failures: 0, triedAt: now() };
  const image = { contentType: 'image/svg+xml', content: Buffer.from('<svg/>') };
  return api.store.transaction((tx) => writeFetchedIcon(tx, tried, image));
}

/** Reads the version of the page and all its data as text. */
async function look(store: Pick<Store, 'read' | 'declarations'> = api.store) {
  const parts = { ...api, store, slotNow: () => api.clock.wall(), visitorKey: VISITOR_KEY };
  const found = await findVersion(parts, { slug: PAGE.slug });
  const source = found === null ? null : await readPage(parts, found.page);
  const whole = (_key: string, value: unknown) => (value instanceof Map ? [...value] : value);
  return { version: found?.version, source: JSON.stringify(source, whole) };
}

const ok = async (method: string, path: string, body?: unknown) => {
  const { status, body: answer } = await api.call(method, path, body);
  expect([status, answer]).toEqual([expect.toSatisfy((code) => code < 300), answer]);
};
const updateOf = () => api.create(`${incident}/updates`, { state: 'monitoring', text: 'It is better.' });
const titled = { title: 'Power cut' };
const otherPage = () => api.create('/v1/status-pages', { title: 'Other', slug: 'other' });

describe('a write to the data of a page changes its version:', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['the page', () => ok('PUT', page, { ...PAGE, description: 'All of it' })],
    ['its theme', () => ok('PATCH', `${page}/appearance`, { theme: 'dark' })],
    ['its latencies', () => ok('PATCH', `${page}/appearance`, { latency: '7d' })],
    ['a new group', () => ok('POST', `${page}/component-groups`, { name: 'Another' })],
    ['a group', () => ok('PUT', group, { name: 'Renamed' })],
    ['a removed group', () => ok('DELETE', group)],
    ['a new component', () => ok('POST', `${page}/components`, { type: 'static', name: 'Office' })],
    ['a component', () => ok('PUT', component, { ...showing(), order: 7 })],
    ['a removed component', () => ok('DELETE', component)],
    ['the name of a monitor', () => ok('PUT', `/v1/monitors/${monitorId}`, { ...MONITOR, name: 'Web' })],
    ['a hidden monitor', () => ok('PUT', `/v1/monitors/${monitorId}`, { ...MONITOR, public: false })],
    ['a removed monitor', () => ok('DELETE', `/v1/monitors/${monitorId}?cascade=true`)],
    [
      'a removed monitor whose component stays',
      () => ok('DELETE', `/v1/monitors/${monitorId}?components=keep`),
    ],
    ['an incident', () => ok('PUT', incident, { ...titled, page_ids: [String(pageId)], impact: 'down' })],
    [
      'an incident of another page',
      async () => ok('PUT', incident, { ...titled, page_ids: [await otherPage()] }),
    ],
    ['a removed incident', () => ok('DELETE', incident)],
    ['a new update', updateOf],
    ['the end of an incident', () => ok('POST', `${incident}/updates`, { state: 'resolved', text: 'Over.' })],
    ['an update', () => ok('PUT', update, { state: 'identified', text: 'Another text' })],
    ['a removed update', () => ok('DELETE', update)],
    [
      'a window of the page',
      () => ok('POST', '/v1/maintenance-windows', window({ page_ids: [String(pageId)] })),
    ],
    [
      'a window of its component',
      () => ok('POST', '/v1/maintenance-windows', window({ component_ids: [componentId] })),
    ],
    [
      'a window of its monitor',
      () => ok('POST', '/v1/maintenance-windows', window({ monitor_ids: [String(monitorId)] })),
    ],
    [
      'a window of another page',
      async () => ok('PUT', maintenance, window({ page_ids: [await otherPage()] })),
    ],
    ['a removed window', () => ok('DELETE', maintenance)],
    ['an icon that is gone', () => api.store.transaction((tx) => tx.query('DELETE FROM page_icons'))],
    ['a status', () => record(state({ status: 'degraded' }))],
    ['the beginning of a status', () => record(state({ since: 1 }))],
    ['a change of status', () => record(insertTransitions([transition({ from: 'error', to: 'degraded' })]))],
    [
      'a date under a clock that was ahead',
      () => record(redateTransitions([transition({ at: now() - 2_000 })])),
    ],
    ['an incident of a monitor', () => record(openIncidents([{ key: 'another', monitorId, at: now() }]))],
    ['its end', () => record(closeIncidents([{ key: KEY, at: now(), closure: null }]))],
  ])('%s', async (_what, write) => {
    const before = await look();
    await write();
    const after = await look();
    expect(after.source).not.toBe(before.source);
    expect(after.version).not.toBe(before.version);
  });
});

test.each<[string, () => object]>([
  ['the page', () => ({ page_ids: [String(pageId)] })],
  ['its component', () => ({ component_ids: [componentId] })],
  ['its monitor', () => ({ monitor_ids: [String(monitorId)] })],
])('so does the end of a window of %s', async (_what, named) => {
  await ok('DELETE', maintenance);
  const id = await api.create('/v1/maintenance-windows', window(named()));
  const before = await look();
  await ok('POST', `/v1/maintenance-windows/${id}/end`);
  const after = await look();
  expect(after.source).not.toBe(before.source);
  expect(after.version).not.toBe(before.version);
});

test("a note on a monitor's incident is shown on the monitor's pages until it names other pages", async () => {
  const [row] = await api.store.read.selectFrom('incidents').select('id').where('key', '=', KEY).execute();
  const other = await otherPage();
  const seen = [await look()];
  const written = `/v1/incidents/${row?.id}`;
  await ok('POST', `${written}/updates`, { state: 'identified', text: 'A cable.' });
  seen.push(await look());
  await ok('PUT', written, { title: 'Cable', page_ids: [other] });
  seen.push(await look());
  // After the last change, the page has the same data as at first, but a new version.
  expect(new Set(seen.map(({ source }) => source)).size).toBe(2);
  expect(new Set(seen.map(({ version }) => version)).size).toBe(3);
});

test('a check without a visible change keeps the version', async () => {
  const interval = { monitorId, status: 'error', reason: 'one-failed', at: now(), slot: null } as const;
  const before = await look();
  await record(
    state({ since: now(), reason: 'failures-apart', floorSlot: now(), entered: 3 }),
    writeVotes([{ id: monitorId, decidedSlot: now(), writtenAt: now(), votes: [], verdicts: [], open: [] }]),
    insertIntervals([{ ...interval, reason: 'majority-failed', votes: [], incident: KEY }]),
    lengthenIntervals([
      { monitorId, reason: 'majority-failed', at: now(), until: now() + 1_000, slots: 2, isUnwritten: false },
    ]),
  );
  await ok('POST', '/v1/monitors', MONITOR);
  await otherPage();
  expect(await look()).toEqual(before);
});

/**
 * Tables without triggers. Data from them changes with time, and pages are read again after a time anyway.
 */
const CHANGE_WITH_TIME = ['slot_results', 'rollup_hours', 'rollup_progress', 'uptime_days'];

// SQLite tells which tables a statement reads. Both databases have the same triggers.
test.skipIf(IS_POSTGRES)(
  'every table that a page reads raises the version, for each kind of write',
  async () => {
    const sqlite = new DatabaseSync(api.database.file, { readOnly: true });
    registerSqlFunctions(sqlite);
    const tables = new Set<string>();
    sqlite.setAuthorizer((action, table) => {
      if (action === constants.SQLITE_READ && table !== null) tables.add(table);
      return constants.SQLITE_OK;
    });
    const statements = new Statements(sqlite);
    const dialect = sqliteDialect(async (sql, parameters) => statements.run(sql, parameters));
    expect((await look({ read: new Kysely<Database>({ dialect }), declarations: 0 })).version).toBeDefined();
    sqlite.setAuthorizer(null);
    const triggers = sqlite.prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?");
    const raising = new Map(
      [...tables]
        .filter((table) => !CHANGE_WITH_TIME.includes(table) && table !== 'json_each')
        .map((table) => [
          table,
          triggers.all(table).map(({ name }) => String(name).replace(`shown_${table}_`, '')),
        ]),
    );
    sqlite.close();
    /**
     * Tables with fewer triggers. For other changes, rows of another
     * table change too, or pages show the change only after a time.
     */
    const some: Readonly<Record<string, string[]>> = {
      monitors: ['update', 'monitors_removed'],
      monitor_states: ['update'],
      status_pages: ['update'],
      transitions: ['insert', 'update'],
    };
    for (const [table, kinds] of raising) {
      expect([table, kinds.sort()]).toEqual([table, (some[table] ?? ['delete', 'insert', 'update']).sort()]);
    }
    expect(raising.size).toBe(14);
  },
);
