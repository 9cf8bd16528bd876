import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';
import { addWorkspace } from '../../../../../test/support/store-rows.ts';

let api: RunningApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.dispose());

const monitor = (name: string) =>
  api.create('/v1/monitors', { type: 'tcp', name, uri: 'shop.example:443', periodicity: '1m' });

test('the components and channels that refer to a monitor, and no others', async () => {
  const [used, other] = [await monitor('used'), await monitor('other')];
  const page = await api.create('/v1/status-pages', { title: 'a', slug: 'used-by' });
  const components = `/v1/status-pages/${page}/components`;
  const component = await api.create(components, { type: 'monitor', monitor_id: used });
  await api.create(components, { type: 'monitor', monitor_id: other });
  const email = { provider_type: 'email', email: { email: 'a@example.com' } };
  const channel = await api.create('/v1/notifications', {
    ...email,
    name: 'Ops',
    monitor_ids: [used, other],
  });
  const { status, body } = await api.call('GET', `/v1/monitors/${used}/uses`);
  expect(status).toBe(200);
  expect(body).toEqual({
    components: [{ id: component, page_id: page, page_slug: 'used-by' }],
    component_count: 1,
    notifications: [{ id: channel, name: 'Ops', provider_type: 'email', state: 'ok', stopped_at: null }],
    notification_count: 1,
  });
});

test('the first fifty, and the number of all', async () => {
  const used = await monitor('widely used');
  const email = { provider_type: 'email', email: { email: 'a@example.com' }, monitor_ids: [used] };
  for (let index = 0; index < 51; index += 1) await api.create('/v1/notifications', email);
  const { body } = await api.call('GET', `/v1/monitors/${used}/uses`);
  expect(body).toMatchObject({ components: [], component_count: 0, notification_count: 51 });
  expect((body as { notifications: unknown[] }).notifications).toHaveLength(50);
});

test("another workspace's monitor is not found", async () => {
  const used = await monitor('private');
  const other = await addWorkspace(api.store, 'other');
  const { secret } = await api.tokens.create({ workspaceId: other, name: 'ci', scope: 'admin' }, 0);
  const headers = { authorization: `Bearer ${secret.reveal()}` };
  expect((await api.call('GET', `/v1/monitors/${used}/uses`, undefined, headers)).status).toBe(404);
});
