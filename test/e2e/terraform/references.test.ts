/** Imports, data sources, and the order in which resources that refer to each other are changed and removed. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { RunningApi } from '../../support/api.ts';
import { providerFor, startApiWithoutLimit } from '../../support/terraform/api.ts';
import { describeTerraform } from '../../support/terraform/describe-terraform.ts';
import {
  apply,
  applyForGood,
  changesIn,
  destroy,
  errorsOf,
  expectNothingToDo,
} from '../../support/terraform/expectations.ts';
import { type Body, type Configuration, ref } from '../../support/terraform/runner.ts';

const WEB = { name: 'Web', url: 'https://example.com', periodicity: '1m' };
/** A page with a new slug for each test, so that a failed test does not disturb the others. */
let page: Body = {};
let pages = 0;
beforeEach(() => {
  pages += 1;
  page = { title: 'Page', slug: `references-${pages}` };
});

let api: RunningApi;
beforeAll(async () => {
  api = await startApiWithoutLimit();
});
afterAll(() => api.dispose());

describeTerraform('imports, data sources and order', (terraform) => {
  const open = async () => terraform.workspace(providerFor(api));

  test('imports that are refused', async () => {
    const tcp = await api.create('/v1/monitors', {
      type: 'tcp',
      name: 'Port',
      uri: 'example.com:443',
      periodicity: '1m',
    });
    const pageId = await api.create('/v1/status-pages', page);
    const component = await api.create(`/v1/status-pages/${pageId}/components`, { type: 'static' });
    const workspace = await open();
    await workspace.configure({
      resource: {
        svc_http_monitor: { web: WEB },
        svc_status_page: { page },
        svc_status_page_component: { part: { page_id: pageId, type: 'static' } },
        svc_status_page_component_group: { group: { page_id: pageId, name: 'Group' } },
      },
    });
    const refused: [string, string, RegExp][] = [
      ['svc_http_monitor.web', tcp, /is of the type tcp: import it as svc_tcp_monitor/],
      ['svc_http_monitor.web', 'web', /"web".*<monitor_id>/],
      ['svc_http_monitor.web', `${pageId}/${tcp}`, /<monitor_id>/],
      ['svc_http_monitor.web', '0', /<monitor_id>/],
      ['svc_http_monitor.web', '999999', /Cannot import non-existent remote object/],
      ['svc_status_page.page', '', /<page_id>|import id/i],
      ['svc_status_page_component.part', component, /<page_id>\/<component_id>/],
      ['svc_status_page_component.part', `${pageId}/`, /<page_id>\/<component_id>/],
      ['svc_status_page_component.part', `999999/${component}`, /Cannot import non-existent remote object/],
      ['svc_status_page_component_group.group', `${pageId}/x`, /<page_id>\/<group_id>/],
    ];
    for (const [address, id, expected] of refused) {
      const errors = errorsOf({ diagnostics: await workspace.import(address, id) });
      expect(errors.join('\n').replace(/\s+/g, ' '), `${address} ${id}`).toMatch(expected);
    }
    expect(await workspace.state()).toEqual({});
    await workspace.dispose();
    await api.call('DELETE', `/v1/monitors/${tcp}`);
    await api.call('DELETE', `/v1/status-pages/${pageId}?cascade=true`);
  });

  test('an import that differs is changed in place', async () => {
    const id = await api.create('/v1/monitors', {
      type: 'http',
      ...WEB,
      timeout: 1_000,
      headers: [{ key: 'X-A', value: 'a' }],
    });
    const workspace = await open();
    await workspace.configure({
      resource: { svc_http_monitor: { web: WEB } },
      import: [{ to: 'svc_http_monitor.web', id }],
    });
    expect(await changesIn(workspace)).toEqual([{ address: 'svc_http_monitor.web', action: 'update' }]);
    await apply(workspace);
    await expectNothingToDo(workspace);
    expect((await api.call('GET', `/v1/monitors/${id}`)).body).toMatchObject({
      timeout: 45_000,
      headers: [],
    });
    await destroy(workspace);
    await workspace.dispose();
  });

  test('data sources read existing objects, and those that the same apply creates', async () => {
    const workspace = await open();
    const resource = {
      svc_http_monitor: { web: { ...WEB, description: 'Text', active: true } },
      svc_tcp_monitor: { port: { name: 'Port', uri: 'example.com:443', periodicity: '5m' } },
      svc_dns_monitor: { name: { name: 'Name', uri: 'example.com', periodicity: '10m' } },
      svc_notification: {
        hook: {
          name: 'Hook',
          provider_type: 'webhook',
          webhook: [{ endpoint: 'https://hook.example.com' }],
          monitor_ids: [ref('svc_http_monitor.web.id')],
        },
      },
      svc_status_page: {
        page: {
          ...page,
          access_type: 'email-domain',
          auth_email_domains: ['example.com'],
          password: 'secret',
        },
      },
    };
    const all = ['svc_http_monitor.web', 'svc_tcp_monitor.port', 'svc_dns_monitor.name'];
    const configuration: Configuration = {
      resource,
      data: {
        svc_monitor: {
          web: { id: ref('svc_http_monitor.web.id') },
          port: { id: ref('svc_tcp_monitor.port.id') },
          name: { id: ref('svc_dns_monitor.name.id') },
        },
        svc_monitors: { all: { depends_on: all }, second: { limit: 1, offset: 1, depends_on: all } },
        svc_notification: { hook: { id: ref('svc_notification.hook.id') } },
        svc_status_page: { page: { id: ref('svc_status_page.page.id') } },
      },
      output: { url: { value: ref('data.svc_monitor.web.url') } },
    };
    await applyForGood(workspace, configuration);
    const state = await workspace.state();
    expect(await workspace.outputs()).toEqual({ url: 'https://example.com' });
    expect(state['data.svc_monitor.web']).toEqual({
      id: state['svc_http_monitor.web']?.id,
      type: 'http',
      name: 'Web',
      url: 'https://example.com',
      uri: null,
      periodicity: '1m',
      method: 'GET',
      active: true,
      public: false,
      description: 'Text',
      timeout: 45_000,
      status: 'unknown',
    });
    expect(state['data.svc_monitor.port']).toMatchObject({
      type: 'tcp',
      uri: 'example.com:443',
      url: null,
      method: null,
    });
    expect(state['data.svc_monitor.name']).toMatchObject({ type: 'dns', uri: 'example.com' });
    const members = (name: string) =>
      state[`data.svc_monitors.${name}`]?.monitors as { name: string; type: string }[];
    expect(
      members('all')
        .map(({ name, type }) => `${name} ${type}`)
        .toSorted(),
    ).toEqual(['Name dns', 'Port tcp', 'Web http']);
    expect(members('second')).toEqual(members('all').slice(1, 2));
    expect(state['data.svc_notification.hook']).toMatchObject({
      name: 'Hook',
      provider_type: 'webhook',
      monitor_ids: [state['svc_http_monitor.web']?.id],
    });
    expect(state['data.svc_status_page.page']).toMatchObject({
      title: 'Page',
      slug: page.slug,
      published: true,
      theme: 'system',
      access_type: 'email-domain',
      password: 'secret',
      auth_email_domains: ['example.com'],
    });
    await destroy(workspace);
    await workspace.configure({
      data: {
        svc_monitor: { gone: { id: '999999' } },
        svc_notification: { gone: { id: '999999' } },
        svc_status_page: { gone: { id: '999999' } },
      },
    });
    const errors = errorsOf(await workspace.plan()).toSorted();
    expect(errors).toHaveLength(3);
    for (const [index, type] of ['svc_monitor', 'svc_notification', 'svc_status_page'].entries()) {
      expect(errors[index]).toMatch(new RegExp(`^data\\.${type}\\.gone .*999999`));
    }
    await workspace.dispose();
  });

  const component = (target: string): Body => ({
    page_id: ref('svc_status_page.page.id'),
    type: 'monitor',
    monitor_id: ref(`svc_http_monitor.${target}.id`),
  });
  const showing = (monitors: Record<string, Body>, target: string): Configuration => ({
    resource: {
      svc_http_monitor: monitors,
      svc_status_page: { page },
      svc_status_page_component: { part: component(target) },
    },
  });

  test('a change of a resource does not change resources that refer to it', async () => {
    const workspace = await open();
    await applyForGood(workspace, showing({ web: WEB }, 'web'));
    await workspace.configure(showing({ web: { ...WEB, name: 'Renamed' } }, 'web'));
    expect(await changesIn(workspace)).toEqual([{ address: 'svc_http_monitor.web', action: 'update' }]);
    await apply(workspace);
    await expectNothingToDo(workspace);
    await destroy(workspace);
    await workspace.dispose();
  });

  test('a resource is removed before the resources that it refers to', async () => {
    const workspace = await open();
    const whole = showing({ web: WEB }, 'web').resource ?? {};
    await applyForGood(workspace, {
      resource: {
        ...whole,
        svc_status_page_component_group: {
          group: { page_id: ref('svc_status_page.page.id'), name: 'Group' },
        },
        svc_status_page_component: {
          part: { ...component('web'), group_id: ref('svc_status_page_component_group.group.id') },
        },
        svc_notification: {
          hook: {
            provider_type: 'webhook',
            webhook: [{ endpoint: 'https://hook.example.com' }],
            monitor_ids: [ref('svc_http_monitor.web.id')],
          },
        },
      },
    });
    await destroy(workspace);
    await workspace.dispose();
  });

  test('a component shows another monitor while the old one is removed, in one apply', async () => {
    const workspace = await open();
    await applyForGood(workspace, showing({ old: WEB, other: WEB }, 'old'));
    const before = (await workspace.state())['svc_status_page_component.part']?.id;
    await applyForGood(workspace, showing({ other: WEB }, 'other'));
    // Renaming a key of for_each is a removal and a creation, in any order.
    await applyForGood(workspace, showing({ renamed: WEB }, 'renamed'));
    expect((await workspace.state())['svc_status_page_component.part']?.id).toBe(before);
    await destroy(workspace);
    await workspace.dispose();
  });

  test('a shown monitor of another kind, and one that was removed elsewhere', async () => {
    const workspace = await open();
    await applyForGood(workspace, showing({ web: WEB }, 'web'));
    const port = { name: 'Port', uri: 'example.com:443', periodicity: '1m' };
    await applyForGood(workspace, {
      resource: {
        svc_status_page: { page },
        svc_tcp_monitor: { port },
        svc_status_page_component: {
          part: { ...component('web'), monitor_id: ref('svc_tcp_monitor.port.id') },
        },
      },
    });
    const state = await workspace.state();
    const id = String(state['svc_tcp_monitor.port']?.id);
    expect((await api.call('DELETE', `/v1/monitors/${id}?components=keep`)).status).toBe(204);
    expect(await changesIn(workspace)).toEqual([
      { address: 'svc_status_page_component.part', action: 'update' },
      { address: 'svc_tcp_monitor.port', action: 'create' },
    ]);
    await apply(workspace);
    await expectNothingToDo(workspace);
    await destroy(workspace);
    await workspace.dispose();
  });

  test('with create_before_destroy it is one apply', async () => {
    const workspace = await open();
    const lifecycle = { lifecycle: { create_before_destroy: true } };
    await applyForGood(workspace, showing({ old: { ...WEB, ...lifecycle }, other: WEB }, 'old'));
    await applyForGood(workspace, showing({ other: WEB }, 'other'));
    await destroy(workspace);
    await workspace.dispose();
  });

  test('moving a component to another page replaces it, and leaves the other components of that page', async () => {
    const workspace = await open();
    const on = (page: string): Configuration => ({
      resource: {
        svc_status_page: { one: { title: 'One', slug: 'one' }, two: { title: 'Two', slug: 'two' } },
        svc_status_page_component_group: {
          group: { page_id: ref(`svc_status_page.${page}.id`), name: 'Group' },
        },
        svc_status_page_component: {
          part: {
            page_id: ref(`svc_status_page.${page}.id`),
            type: 'static',
            group_id: ref('svc_status_page_component_group.group.id'),
          },
        },
      },
    });
    await applyForGood(workspace, on('one'));
    await workspace.configure(on('two'));
    expect(await changesIn(workspace)).toEqual([
      { address: 'svc_status_page_component.part', action: 'replace' },
      { address: 'svc_status_page_component_group.group', action: 'replace' },
    ]);
    await applyForGood(workspace, on('two'));
    // The type of a component cannot be changed either.
    const { resource = {} } = on('two');
    await workspace.configure({
      resource: {
        ...resource,
        svc_http_monitor: { web: WEB },
        svc_status_page_component: {
          part: {
            page_id: ref('svc_status_page.two.id'),
            type: 'monitor',
            monitor_id: ref('svc_http_monitor.web.id'),
          },
        },
      },
    });
    expect(await changesIn(workspace)).toContainEqual({
      address: 'svc_status_page_component.part',
      action: 'replace',
    });
    await apply(workspace);
    await expectNothingToDo(workspace);
    await destroy(workspace);
    await workspace.dispose();
  });
});
