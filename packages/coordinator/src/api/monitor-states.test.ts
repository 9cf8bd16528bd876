import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';

let api: RunningApi;
const STATES = ['active', 'error', 'degraded', null, 'error', 'active'] as const;

beforeAll(async () => {
  api = await startApi();
  for (const [index, name] of ['beta', 'Alpha', 'gamma', 'delta', 'echo', 'paused one'].entries()) {
    const type = index === 2 ? 'tcp' : 'http';
    const target =
      type === 'tcp' ? { uri: 'db.example.com:5432' } : { url: 'https://user:word@example.com/health' };
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

type Answer = { data: { id: string; name: string }[]; total: number; counts: Record<string, number> };
const list = async (query = '') => (await api.call('GET', `/v1/monitor-states${query}`)).body as Answer;
const names = async (query: string) => (await list(query)).data.map(({ name }) => name);

test('the most urgent come first, and among equals the newest change', async () => {
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
    target: 'https://example.com/health',
    periodicity: '1m',
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

test('counts are those of the other filters, and the total that of all', async () => {
  const { total, counts } = await list('?state=error&name=a&limit=1');
  expect(total).toBe(1);
  expect(counts).toEqual({ error: 1, degraded: 1, unknown: 1, active: 1, paused: 1 });
});

test.each(['?sort=id', '?state=down', '?limit=0', '?unknown=1'])('%s is refused', async (query) => {
  expect((await api.call('GET', `/v1/monitor-states${query}`)).status).toBe(400);
});

test('a token sees only its workspace', async () => {
  const { body } = await api.call('POST', '/v1/workspaces', { name: 'other' });
  const { id } = body as { id: string };
  const made = await api.call('POST', '/v1/tokens', { name: 'x', scope: 'read', workspace_id: id });
  const { token } = made.body as { token: string };
  const answer = await api.call('GET', '/v1/monitor-states', undefined, { authorization: `Bearer ${token}` });
  expect(answer.body).toMatchObject({ data: [], total: 0 });
});
