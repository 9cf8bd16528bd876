import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';

let api: RunningApi;
let path = '';
const ids: string[] = [];

beforeAll(async () => {
  api = await startApi();
  const { body } = await api.call('POST', '/v1/status-pages', { title: 'A', slug: 'a' });
  path = `/v1/status-pages/${(body as { id: string }).id}`;
  for (const name of ['one', 'two', 'three']) {
    const made = await api.call('POST', `${path}/components`, { type: 'static', name });
    ids.push((made.body as { id: string }).id);
  }
});
afterAll(() => api.dispose());

type Component = { id: string; name: string; order: number | null; group_order: number | null };
const places = async () =>
  ((await api.call('GET', `${path}/components`)).body as { data: Component[] }).data.map(
    ({ name, order, group_order }) => [name, order, group_order],
  );
const move = (components: object[]) => api.call('PATCH', `${path}/arrangement`, { components });

test('components get their places at once, and keep all other attributes', async () => {
  const [one, two] = ids;
  const moved = await move([
    { id: one, order: 2, group_order: null },
    { id: two, order: 1, group_order: 5 },
  ]);
  expect(moved.status).toBe(204);
  expect(await places()).toEqual([
    ['one', 2, null],
    ['two', 1, 5],
    ['three', null, null],
  ]);
  const audit = await api.call('GET', `/v1/audit?object=${path.slice(4)}/arrangement`);
  expect((audit.body as { data: object[] }).data).toHaveLength(1);
});

test('no component is moved if one of them is not on the page', async () => {
  const before = await places();
  const refused = await move([
    { id: ids[0], order: 9, group_order: null },
    { id: '999', order: 1, group_order: null },
  ]);
  expect(refused).toMatchObject({ status: 404, body: { errors: [{ pointer: '/components/1/id' }] } });
  expect(await places()).toEqual(before);
});

test('the arrangement of a page that does not exist is 404', async () => {
  const answer = await api.call('PATCH', '/v1/status-pages/999/arrangement', { components: [] });
  expect(answer.status).toBe(404);
});
