/** Changes outside of Terraform, and an API with faulty answers. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunningApi } from '../../support/api.ts';
import { type ApiProxy, type ProxiedRequest, startApiProxy } from '../../support/api-proxy.ts';
import { providerFor, startApiWithoutLimit } from '../../support/terraform/api.ts';
import { describeTerraform } from '../../support/terraform/describe-terraform.ts';
import {
  applyForGood,
  changesIn,
  destroy,
  errorsOf,
  expectNothingToDo,
} from '../../support/terraform/expectations.ts';
import { type Configuration, ref } from '../../support/terraform/runner.ts';

const EVERYTHING: Configuration = {
  resource: {
    svc_http_monitor: {
      web: {
        name: 'Web',
        url: 'https://example.com',
        periodicity: '1m',
        headers: [{ key: 'X-A', value: 'a' }],
        otlp_headers: { Authorization: 'secret' },
        regions: ['hosta-fra', 'hostb-par'],
      },
    },
    svc_tcp_monitor: { port: { name: 'Port', uri: 'example.com:443', periodicity: '5m' } },
    svc_dns_monitor: { name: { name: 'Name', uri: 'example.com', periodicity: '10m' } },
    svc_notification: {
      hook: {
        provider_type: 'webhook',
        webhook: [{ endpoint: 'https://hook.example.com', headers: [{ key: 'X-A', value: 'secret' }] }],
        monitor_ids: [ref('svc_http_monitor.web.id')],
      },
    },
    svc_status_page: { page: { title: 'Page', slug: 'faults', access_type: 'password', password: 'secret' } },
    svc_status_page_component_group: { group: { page_id: ref('svc_status_page.page.id'), name: 'Group' } },
    svc_status_page_component: {
      component: {
        page_id: ref('svc_status_page.page.id'),
        type: 'static',
        group_id: ref('svc_status_page_component_group.group.id'),
      },
    },
  },
};
const ADDRESSES = Object.entries(EVERYTHING.resource ?? {}).flatMap(([type, named]) =>
  Object.keys(named).map((name) => `${type}.${name}`),
);

const ofAll = (action: string) => ADDRESSES.toSorted().map((address) => ({ address, action }));

const isCreation = ({ method }: ProxiedRequest) => method === 'POST';

let api: RunningApi;
let proxy: ApiProxy;
beforeAll(async () => {
  api = await startApiWithoutLimit();
  proxy = await startApiProxy(api.url);
});
afterAll(async () => {
  await proxy.close();
  await api.dispose();
});

async function total(path: string): Promise<number> {
  return ((await api.call('GET', path)).body as { total: number }).total;
}

async function change(path: string, members: object): Promise<void> {
  const { body } = await api.call('GET', path);
  const { status } = await api.call('PUT', path, { ...(body as object), ...members });
  expect(status).toBe(200);
}

describeTerraform('drift and faults', (terraform) => {
  const open = async (more = {}) => terraform.workspace(providerFor(api, { base_url: proxy.url, ...more }));

  test('changes outside of Terraform are seen and undone', async () => {
    const workspace = await open();
    await applyForGood(workspace, EVERYTHING);
    const state = await workspace.state();
    const path = (collection: string, address: string) => `${collection}/${state[address]?.id}`;
    const web = path('/v1/monitors', 'svc_http_monitor.web');
    const hook = path('/v1/notifications', 'svc_notification.hook');
    await change(web, { timeout: 7, headers: [], otlp_headers: { a: 'b' }, regions: ['hosta-fra'] });
    await change(hook, {
      monitor_ids: [],
      webhook: { endpoint: 'https://elsewhere.example.com', headers: [] },
    });
    await change(path('/v1/status-pages', 'svc_status_page.page'), { password: 'changed' });
    expect(await changesIn(workspace)).toEqual([
      { address: 'svc_http_monitor.web', action: 'update' },
      { address: 'svc_notification.hook', action: 'update' },
      { address: 'svc_status_page.page', action: 'update' },
    ]);
    await applyForGood(workspace, EVERYTHING);
    expect((await api.call('GET', web)).body).toMatchObject({
      timeout: 45_000,
      headers: [{ key: 'X-A', value: 'a' }],
      otlp_headers: { Authorization: 'secret' },
      regions: ['hosta-fra', 'hostb-par'],
    });
    expect((await api.call('GET', hook)).body).toMatchObject({
      webhook: { endpoint: 'https://hook.example.com', headers: [{ key: 'X-A', value: 'secret' }] },
    });
    await destroy(workspace);
    await workspace.dispose();
  });

  test('what was removed outside of Terraform is created again', async () => {
    const workspace = await open();
    await applyForGood(workspace, EVERYTHING);
    const state = await workspace.state();
    const page = state['svc_status_page.page']?.id;
    await api.call('DELETE', `/v1/status-pages/${page}?cascade=true`);
    for (const address of ['svc_http_monitor.web', 'svc_tcp_monitor.port', 'svc_dns_monitor.name']) {
      await api.call('DELETE', `/v1/monitors/${state[address]?.id}`);
    }
    await api.call('DELETE', `/v1/notifications/${state['svc_notification.hook']?.id}`);
    expect(await changesIn(workspace)).toEqual(ofAll('create'));
    await applyForGood(workspace, EVERYTHING);
    const again = await workspace.state();
    await api.call('DELETE', `/v1/monitors/${again['svc_http_monitor.web']?.id}`);
    // It is no error to remove what is gone already.
    await destroy(workspace);
    await workspace.dispose();
  });

  test('temporary refusals and lost answers: each object is created once, and none is tainted', async () => {
    const workspace = await open();
    const tries = new Map<string, number>();
    proxy.treat((request) => {
      if (!isCreation(request)) return 'pass';
      const key = String(request.headers['idempotency-key']);
      const count = (tries.get(key) ?? 0) + 1;
      tries.set(key, count);
      if (count === 1)
        return { status: request.path.includes('monitors') ? 503 : 429, headers: { 'retry-after': '0' } };
      return count === 2 ? 'swallow' : 'pass';
    });
    await applyForGood(workspace, EVERYTHING);
    proxy.treat(() => 'pass');
    expect(await workspace.tainted()).toEqual([]);
    expect([...tries.values()]).toEqual(ADDRESSES.map(() => 3));
    expect([...tries.keys()].every((key) => key.length > 10)).toBe(true);
    const page = (await workspace.state())['svc_status_page.page']?.id;
    expect({
      monitors: await total('/v1/monitors'),
      notifications: await total('/v1/notifications'),
      pages: await total('/v1/status-pages'),
      components: await total(`/v1/status-pages/${page}/components`),
      groups: await total(`/v1/status-pages/${page}/component-groups`),
    }).toEqual({ monitors: 3, notifications: 1, pages: 1, components: 1, groups: 1 });
    await destroy(workspace);
    await workspace.dispose();
  });

  test('reads that fail are errors, never a removal', async () => {
    const workspace = await open();
    await applyForGood(workspace, EVERYTHING);
    proxy.treat(({ method }) => (method === 'GET' ? { status: 403 } : 'pass'));
    const refused = await workspace.plan();
    proxy.treat(() => 'pass');
    expect(errorsOf(refused).length).toBeGreaterThan(0);
    expect(refused.changes).toEqual([]);
    await expectNothingToDo(workspace);
    await destroy(workspace);
    await workspace.dispose();
  });

  test('a wrong token says where it came from, and is not shown', async () => {
    const workspace = await open({ api_token: 'not-the-token-of-anybody' });
    await workspace.configure(EVERYTHING);
    const errors = errorsOf(await workspace.apply());
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.join('\n')).toMatch(/argument api_token of the provider block/);
    expect(errors.join('\n')).not.toContain('not-the-token-of-anybody');
    await workspace.dispose();

    const { api_token: _, ...provider } = providerFor(api).provider;
    const environment = { SVC_API_TOKEN: 'nor-this-one' };
    const byEnvironment = await terraform.workspace({ provider, environment });
    await byEnvironment.configure(EVERYTHING);
    const others = errorsOf(await byEnvironment.apply()).join('\n');
    expect(others).toMatch(/SVC_API_TOKEN/);
    expect(others).not.toContain('nor-this-one');
    await byEnvironment.dispose();
    expect(await total('/v1/monitors')).toBe(0);
  });

  test('a slug that is taken: what was created is kept, and the next apply creates the rest', async () => {
    const { body } = await api.call('POST', '/v1/status-pages', { title: 'Other', slug: 'faults' });
    const workspace = await open();
    await workspace.configure(EVERYTHING);
    const errors = errorsOf(await workspace.apply());
    expect(errors).toHaveLength(1);
    expect(errors[0]).toMatch(/svc_status_page\.page.*slug: another status page has this slug/);
    expect(Object.keys(await workspace.state())).toHaveLength(4);
    expect(await workspace.tainted()).toEqual([]);
    await api.call('DELETE', `/v1/status-pages/${(body as { id: string }).id}`);
    await applyForGood(workspace, EVERYTHING);
    await destroy(workspace);
    await workspace.dispose();
  });
});
