import { MASK } from '@svc/shared/secret.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { addRows } from '../../../../test/support/store-rows.ts';

let api: RunningApi;
const STATES = ['active', 'error', 'degraded', null, 'error', 'active'] as const;

beforeAll(async () => {
  api = await startApi();
  for (const [index, name] of ['beta', 'Alpha', 'gamma', 'delta', 'echo', 'paused one'].entries()) {
    const type = index === 2 ? 'tcp' : 'http';
    const target =
      type === 'tcp'
        ? { uri: 'db.example.com:5432' }
        : { url: 'https://user:word@example.com/health?key=word' };
    const active = name !== 'paused one';
    const body = { type, name, ...target, periodicity: '1m', active, public: false };
    expect((await api.call('POST', '/v1/monitors', body)).status).toBe(201);
    const status = STATES[index] ?? null;
    if (status === null) continue;
    await api.store.transaction((tx) =>
      tx.runEach('INSERT INTO monitor_states (monitor_id, status, since) VALUES (?, ?, ?)', [
        [index + 1, status, 1_000 + index],
      ]),
    );
  }
});
afterAll(() => api.dispose());

type Answer = {
  data: { id: string; name: string; maintenance: boolean }[];
  total: number;
  counts: Record<string, number>;
  under_maintenance: number;
  muted: number;
  acknowledged: number;
};
const list = async (query = '') => (await api.call('GET', `/v1/monitor-states${query}`)).body as Answer;
const names = async (query: string) => (await list(query)).data.map(({ name }) => name);

test('the most urgent monitors come first, and among equals the newest change', async () => {
  const { data, total, counts } = await list();
  expect(data.map(({ name }) => name)).toEqual(['echo', 'Alpha', 'gamma', 'delta', 'beta', 'paused one']);
  expect(total).toBe(6);
  expect(counts).toEqual({ error: 2, degraded: 1, unknown: 1, active: 1, paused: 1 });
  expect(data[4]).toEqual({
    id: '1',
    type: 'http',
    name: 'beta',
    active: true,
    status: 'active',
    since: 1_000,
    maintenance: false,
    mute: null,
    acknowledgement: null,
    target: `https://example.com/health?${MASK}`,
    periodicity: '1m',
    disagreeing: [],
    failing_alone: [],
  });
});

test.each([
  ['?sort=name', ['Alpha', 'beta', 'delta', 'echo', 'gamma', 'paused one']],
  ['?sort=-name&limit=2', ['paused one', 'gamma']],
  ['?sort=name&limit=2&offset=2', ['delta', 'echo']],
  ['?sort=-since&limit=2', ['paused one', 'echo']],
  ['?state=error', ['echo', 'Alpha']],
  ['?state=paused', ['paused one']],
  ['?state=unknown', ['delta']],
  ['?type=tcp', ['gamma']],
  ['?name=ALPHA', ['Alpha']],
  ['?name=nothing', []],
  ['?offset=100', []],
])('%s lists %j', async (query, expected) => {
  expect(await names(query)).toEqual(expected);
});

test('the counts follow the other filters, and the total follows all filters', async () => {
  const { total, counts } = await list('?state=error&name=a&limit=1');
  expect(total).toBe(1);
  expect(counts).toEqual({ error: 1, degraded: 1, unknown: 1, active: 1, paused: 1 });
});

test.each(['?sort=ids', '?state=down', '?limit=0', '?unknown=1', '?muted=yes'])(
  '%s is refused',
  async (query) => {
    expect((await api.call('GET', `/v1/monitor-states${query}`)).status).toBe(400);
  },
);

test('monitors with an occurrence under way are under maintenance', async () => {
  const schedule = async (window: object) =>
    expect((await api.call('POST', '/v1/maintenance-windows', { title: 'x', ...window })).status).toBe(201);
  // The fake clock shows the beginning of 2026, which is a Thursday.
  await schedule({
    starts_at: '2025-12-31T23:00:00Z',
    ends_at: '2026-01-01T01:00:00Z',
    monitor_ids: ['1', '2'],
  });
  await schedule({
    ...{ starts_at: '2025-12-04T00:00:00Z', ends_at: '2025-12-04T00:30:00Z', monitor_ids: ['2', '6'] },
    repeat: { frequency: 'weekly' },
  });
  await schedule({ starts_at: '2026-01-01T00:30:00Z', ends_at: '2026-01-01T01:00:00Z', monitor_ids: ['3'] });
  await schedule({ starts_at: '2025-12-31T22:00:00Z', ends_at: '2026-01-01T00:00:00Z', monitor_ids: ['4'] });
  expect(await names('?maintenance=true')).toEqual(['Alpha', 'beta', 'paused one']);
  expect(await names('?maintenance=false&sort=name')).toEqual(['delta', 'echo', 'gamma']);
  const { total, counts, under_maintenance } = await list('?maintenance=true&state=error');
  expect([total, under_maintenance]).toEqual([1, 3]);
  expect(counts).toEqual({ error: 1, degraded: 0, unknown: 0, active: 1, paused: 1 });
  const { data } = await list('?sort=name');
  expect(data.map(({ maintenance }) => maintenance)).toEqual([true, true, false, false, false, true]);
});

test('muted monitors and those whose open incident is acknowledged can be asked for', async () => {
  // The fake clock shows the beginning of 2026.
  const until = '2026-01-01T01:00:00Z';
  for (const id of [1, 3]) await api.call('POST', `/v1/monitors/${id}/mute`, { until });
  await api.store.transaction((tx) =>
    tx.runEach('INSERT INTO mutes (monitor_id, muted_at, muted_until, muted_by) VALUES (?, 1, 2, ?)', [
      [4, 'over'],
    ]),
  );
  const incident = { workspace_id: api.workspaceId, opened_at: 1, title: null };
  const acknowledged = { acknowledged_at: 2, acknowledged_by: 'somebody' };
  await addRows(api.store, 'incidents', { ...incident, ...acknowledged, key: '1', monitor_id: 2 });
  await addRows(api.store, 'incidents', { ...incident, ...acknowledged, key: '2', monitor_id: 3 });
  await addRows(api.store, 'incidents', { ...incident, key: '3', monitor_id: 4 });
  await addRows(api.store, 'incidents', {
    ...incident,
    ...acknowledged,
    key: '4',
    monitor_id: 5,
    closed_at: 3,
  });
  await addRows(api.store, 'incidents', { ...incident, ...acknowledged, key: null, monitor_id: null });
  expect(await names('?muted=true&sort=name')).toEqual(['beta', 'gamma']);
  expect(await names('?muted=false&sort=name')).toEqual(['Alpha', 'delta', 'echo', 'paused one']);
  expect(await names('?acknowledged=true&sort=name')).toEqual(['Alpha', 'gamma']);
  expect(await names('?acknowledged=false&sort=name')).toEqual(['beta', 'delta', 'echo', 'paused one']);
  expect(await names('?muted=true&acknowledged=true')).toEqual(['gamma']);
  const { total, counts, muted, acknowledged: seen } = await list('?muted=true&state=degraded');
  expect([total, muted, seen]).toEqual([1, 2, 2]);
  expect(counts).toEqual({ error: 0, degraded: 1, unknown: 0, active: 1, paused: 0 });
});

test('lists only monitors with the requested ids', async () => {
  expect(await names('?ids=5,1,99&sort=name')).toEqual(['beta', 'echo']);
  expect((await api.call('GET', '/v1/monitor-states?ids=1,x')).status).toBe(400);
});

test('a token sees only its workspace', async () => {
  const { body } = await api.call('POST', '/v1/workspaces', { name: 'other' });
  const { id } = body as { id: string };
  const made = await api.call('POST', '/v1/tokens', { name: 'x', scope: 'read', workspace_id: id });
  const { token } = made.body as { token: string };
  const answer = await api.call('GET', '/v1/monitor-states', undefined, { authorization: `Bearer ${token}` });
  expect(answer.body).toMatchObject({ data: [], total: 0 });
});
