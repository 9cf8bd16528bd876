import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';

let api: RunningApi;
const ids: Record<string, string> = {};

async function made(path: string, body: object): Promise<string> {
  const { status, body: answer } = await api.call('POST', path, body);
  expect(status, JSON.stringify(answer)).toBe(201);
  return (answer as { id: string }).id;
}

beforeAll(async () => {
  api = await startApi();
  const monitor = { type: 'tcp', name: 'Mail server', uri: 'mail.example:25', periodicity: '1m' };
  ids.monitor = await made('/v1/monitors', monitor);
  for (const [slug, title] of [
    ['one', 'First'],
    ['two', 'Second'],
  ] as const) {
    const page = await made('/v1/status-pages', { slug, title });
    ids[slug] = page;
    const path = `/v1/status-pages/${page}/components`;
    ids[`${slug} mail`] = await made(path, { type: 'monitor', monitor_id: ids.monitor });
    ids[`${slug} text`] = await made(path, { type: 'static', name: 'Office' });
  }
});
afterAll(() => api.dispose());

type Answer = { total: number; data: { id: string }[] };
const list = async (query = '') => (await api.call('GET', `/v1/components${query}`)).body as Answer;
const named = async (query: string) => (await list(query)).data.map(({ id }) => id);

test('components of all pages have their own name or the name of their monitor', async () => {
  const { total, data } = await list('?limit=2');
  expect(total).toBe(4);
  const page = { page_id: ids.one, page_title: 'First' };
  expect(data).toEqual([
    { id: ids['one mail'], ...page, monitor_id: ids.monitor, name: 'Mail server' },
    { id: ids['one text'], ...page, monitor_id: null, name: 'Office' },
  ]);
});

test('components are found by name, page and id', async () => {
  expect(await named('?name=mail')).toEqual([ids['one mail'], ids['two mail']]);
  expect(await named(`?page_id=${ids.two}`)).toEqual([ids['two mail'], ids['two text']]);
  expect(await named(`?ids=${ids['two text']},999`)).toEqual([ids['two text']]);
  expect(await named('?offset=3')).toEqual([ids['two text']]);
});

test('a token sees only its workspace', async () => {
  const workspace = (await made('/v1/workspaces', { name: 'other' })) ?? '';
  const made2 = await api.call('POST', '/v1/tokens', { name: 'x', scope: 'read', workspace_id: workspace });
  const { token } = made2.body as { token: string };
  const answer = await api.call('GET', '/v1/components', undefined, { authorization: `Bearer ${token}` });
  expect(answer.body).toMatchObject({ data: [], total: 0 });
});
