import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';
import { DashboardSession } from '../../../../../test/support/dashboard/session.ts';
import { slugOf } from './status-page-pages.ts';

let api: RunningApi;
let session: DashboardSession;

beforeAll(async () => {
  api = await startApi();
  session = await DashboardSession.open(api);
});
afterAll(() => api.dispose());

const read = async (path: string) => (await api.call('GET', path)).body as Record<string, unknown>;

test('a page that is made in the dashboard gets a slug from its title, and is not served before it is published', async () => {
  const form = '/pages/new';
  const { location } = await session.send(form, form, { title: 'Café Example: status', intent: 'save' });
  const id = location?.replace('/pages/', '') ?? '';
  expect(await read(`/v1/status-pages/${id}`)).toMatchObject({
    slug: 'cafe-example-status',
    published: false,
  });
  expect((await fetch(`${api.url}/status/cafe-example-status`)).status).toBe(404);
  const own = await session.send(form, form, { title: 'Other', slug: 'own', intent: 'save' });
  expect(await read(own.location?.replace('/pages/', '/v1/status-pages/') ?? '')).toMatchObject({
    slug: 'own',
  });
});

test.each([
  ['Example', 'example'],
  ['  A & B – 2 ', 'a-b-2'],
  ['日本', ''],
  ['x'.repeat(200), 'x'.repeat(60)],
  [`${'x'.repeat(59)} y`, 'x'.repeat(59)],
])('the slug of %j is %j', (title, slug) => expect(slugOf(title)).toBe(slug));

test('several components are added at once, of monitors that the page does not show yet', async () => {
  const monitor = { type: 'tcp', uri: 'a.example:1', periodicity: '1m', public: true };
  const ids: string[] = [];
  for (const name of ['One', 'Two <b>', 'Three'])
    ids.push(await api.create('/v1/monitors', { ...monitor, name }));
  const page = await api.create('/v1/status-pages', { title: 'Several', slug: 'several' });
  const path = `/pages/${page}/components/several`;
  const shown = async () => {
    const { data } = (await api.call('GET', `/v1/status-pages/${page}/components`)).body as {
      data: { monitor_id: string }[];
    };
    return data.map(({ monitor_id: id }) => id);
  };
  await session.send(path, path, { monitor: [ids[0] as string, ids[1] as string] });
  expect(await shown()).toEqual([ids[0], ids[1]]);
  const { text } = await session.get(path);
  expect(text).toContain(`value="${ids[2]}"`);
  expect(text).not.toContain('Two &lt;b&gt;');
  await session.send(path, path, { monitor: ['999999', ids[2] as string] });
  expect(await shown()).toEqual(ids);
});
