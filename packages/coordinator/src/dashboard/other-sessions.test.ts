import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { configuredStore, silentLog } from '../../../../test/support/configured-store.ts';
import { rowsOf } from '../../../../test/support/store-rows.ts';
import type { DashboardPage } from './dashboard-page.ts';
import { dashboardPages } from './pages.ts';
import { ChangeFeed } from './scripts/change-feed.ts';

const SECRET = 'kept-from-others-5d1f';

let api: RunningApi;
let pages: readonly DashboardPage[];

beforeAll(async () => {
  const parts = await configuredStore();
  pages = dashboardPages({ changes: new ChangeFeed({ ...parts, log: silentLog }) });
  await parts.dispose();
  api = await startApi();
  // The test creates one object of each kind, so every id is 1.
  for (const [path, body] of [
    [
      '/v1/monitors',
      {
        ...{ type: 'http', name: SECRET, url: 'https://example.com/', periodicity: '1m', active: false },
        headers: [{ key: 'authorization', value: SECRET }],
      },
    ],
    [
      '/v1/notifications',
      { name: SECRET, provider_type: 'webhook', webhook: { endpoint: `http://a.test/${SECRET}` } },
    ],
    ['/v1/status-pages', { title: SECRET, slug: 'shop', access_type: 'public' }],
    [
      '/v1/incidents',
      { title: SECRET, impact: 'degraded', page_ids: ['1'], state: 'investigating', text: 'x' },
    ],
    [
      '/v1/maintenance-windows',
      { title: SECRET, starts_at: '2026-01-02T10:00', ends_at: '2026-01-02T11:00', page_ids: ['1'] },
    ],
  ] as const) {
    const { status, body: answer } = await api.call('POST', path, body);
    expect([status, (answer as { id: string }).id], JSON.stringify(answer)).toEqual([201, '1']);
  }
});
afterAll(() => api.dispose());

/**
 * Opens a session of a new token.
 *
 * @returns a function that sends requests in this session
 */
async function session(grant: object) {
  const made = await api.call('POST', '/v1/tokens', { name: 'other', ...grant });
  const bearer = { authorization: `Bearer ${(made.body as { token: string }).token}` };
  const { url } = (await api.call('POST', '/v1/login-links', undefined, bearer)).body as { url: string };
  const form = await fetch(`${api.url}/login`);
  const cookiesOf = (response: Response) =>
    response.headers
      .getSetCookie()
      .map((each) => each.split(';', 1)[0])
      .join('; ');
  const tokenIn = (text: string) => /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? '';
  const link = new URL(url).searchParams.get('link') ?? '';
  const send = (path: string, cookie: string, fields: Record<string, string>) =>
    fetch(`${api.url}${path}`, {
      ...{ method: 'POST', redirect: 'manual', body: new URLSearchParams(fields) },
      headers: { cookie, accept: 'text/html' },
    });
  const entered = await send('/login', cookiesOf(form), { link, form_token: tokenIn(await form.text()) });
  const cookie = cookiesOf(entered);
  const get = (path: string) => fetch(`${api.url}${path}`, { headers: { cookie, accept: 'text/html' } });
  const form_token = tokenIn(await (await get('/')).text());
  expect(form_token).not.toBe('');
  return { get, post: (path: string) => send(path, cookie, { form_token, intent: 'save', title: 'taken' }) };
}

const TABLES = [
  'monitors',
  'notifications',
  'status_pages',
  'incident_updates',
  'maintenance_windows',
] as const;
const stored = async () => JSON.stringify(await Promise.all(TABLES.map((table) => rowsOf(api.store, table))));
const pathsOf = (method: string) =>
  pages
    .filter((page) => page.method === method && page.path !== '/events')
    .map(({ path }) => path.replace(/\{\w+\}/g, '1'));

test('a session of another workspace finds and changes nothing at any path', async () => {
  const { body } = await api.call('POST', '/v1/workspaces', { name: 'other' });
  const other = await session({ scope: 'admin', workspace_id: (body as { id: string }).id });
  const before = await stored();
  expect(pathsOf('GET').length).toBeGreaterThan(20);
  for (const path of pathsOf('GET')) {
    const text = await (await other.get(path)).text();
    expect(text.includes(SECRET), path).toBe(false);
  }
  for (const path of pathsOf('POST').filter((path) => path.includes('/1'))) {
    const answer = await other.post(path);
    expect((await answer.text()).includes(SECRET), path).toBe(false);
    expect(answer.status, path).toBeLessThan(500);
  }
  expect(await stored()).toBe(before);
});

test('a session of a read token changes nothing, and sees no secret', async () => {
  const reader = await session({ scope: 'read' });
  const before = await stored();
  expect(pathsOf('POST').length).toBeGreaterThan(20);
  // A replay changes nothing, and there are no results to replay yet.
  const asking = new Map([['/monitors/1/what-if', 409]]);
  for (const path of pathsOf('POST'))
    expect((await reader.post(path)).status, path).toBe(asking.get(path) ?? 403);
  expect(await stored()).toBe(before);
  for (const path of pathsOf('GET')) {
    const text = await (await reader.get(path)).text();
    expect(text.includes(`a.test/${SECRET}`), path).toBe(false);
    expect(/authorization[\s\S]{0,200}kept-from/.test(text), path).toBe(false);
  }
});
