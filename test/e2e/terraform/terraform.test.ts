/** Functions that only the real Terraform has: installation, generated configuration, HCL, tests, Ctrl-C. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import type { RunningApi } from '../../support/api.ts';
import { startApiProxy } from '../../support/api-proxy.ts';
import { providerFor, startApiWithoutLimit } from '../../support/terraform/api.ts';
import { SOURCE, VERSION } from '../../support/terraform/built-provider.ts';
import { type DebugProvider, startDebugProvider } from '../../support/terraform/debug-provider.ts';
import { describeTerraform } from '../../support/terraform/describe-terraform.ts';
import {
  apply,
  applyForGood,
  changesIn,
  destroy,
  errorsOf,
  expectNothingToDo,
} from '../../support/terraform/expectations.ts';
import { HCL, MODULE, TESTS } from '../../support/terraform/hcl.ts';
import { type Body, ref } from '../../support/terraform/runner.ts';
import {
  byDevOverrides,
  byMirror,
  byReattach,
  type Installation,
  TerraformWorkspace,
} from '../../support/terraform/terraform-workspace.ts';

const WEB = { name: 'Web', url: 'https://example.com', periodicity: '1m' };
const ONE = { resource: { svc_http_monitor: { web: WEB } } };

let api: RunningApi;
beforeAll(async () => {
  api = await startApiWithoutLimit();
});
afterAll(() => api.dispose());

describeTerraform('only terraform', ({ binary, provider }) => {
  const open = async (installation: Installation, more: Body = {}) => {
    const workspace = await TerraformWorkspace.open(binary, installation, providerFor(api, more));
    onTestFinished(() => workspace.dispose());
    return workspace;
  };
  const overridden = (more: Body = {}) => open(byDevOverrides(provider().folder), more);
  let debug: DebugProvider;
  beforeAll(async () => {
    debug = await startDebugProvider(provider().command);
  });
  afterAll(() => debug.stop());
  /**
   * Uses one running provider for all commands, because otherwise each command starts several. This is for
   * tests that do not depend on how the provider is started.
   */
  const attached = () => open(byReattach(debug.reattach));

  test.each(['-replace', 'taint'])(
    '%s of a monitor that a page and a channel use is one apply',
    async (way) => {
      const workspace = await attached();
      const [monitor, component] = ['svc_http_monitor.web', 'svc_status_page_component.part'];
      await workspace.configure({
        resource: {
          svc_http_monitor: { web: WEB },
          svc_status_page: { page: { title: 'Page', slug: `replaced-${way.replace('-', '')}` } },
          svc_status_page_component: {
            part: {
              page_id: ref('svc_status_page.page.id'),
              name: 'Part',
              type: 'monitor',
              monitor_id: ref(`${monitor}.id`),
            },
          },
          svc_notification: {
            hook: {
              provider_type: 'webhook',
              webhook: [{ endpoint: 'https://hook.example.com' }],
              monitor_ids: [ref(`${monitor}.id`)],
            },
          },
        },
      });
      expect(errorsOf(await workspace.apply())).toEqual([]);
      const before = await workspace.state();

      const args = ['apply', '-json', '-input=false', '-auto-approve'];
      if (way === 'taint') await workspace.run('taint', monitor);
      const replacing = way === 'taint' ? args : [...args, `-replace=${monitor}`];
      expect(errorsOf(workspace.applied(await workspace.run(...replacing)))).toEqual([]);
      const after = await workspace.state();
      expect(after[monitor]?.id).not.toBe(before[monitor]?.id);
      expect(after[component]).toMatchObject({ id: before[component]?.id, monitor_id: after[monitor]?.id });
      expect(after['svc_notification.hook']?.monitor_ids).toEqual([after[monitor]?.id]);
      expect((await workspace.plan()).changes).toEqual([]);
      expect(errorsOf(await workspace.destroy())).toEqual([]);
    },
  );

  test('installed from a filesystem mirror with "~> 0.1"', async () => {
    const workspace = await open(byMirror(provider().mirror, '~> 0.1'));
    await workspace.configure(ONE);
    const first = await workspace.run('init', '-no-color', '-input=false');
    expect(first.stdout + first.stderr).toMatch(new RegExp(`Installed svc/svc v${VERSION}`));
    expect(first.code).toBe(0);
    expect(await readFile(join(workspace.folder, '.terraform.lock.hcl'), 'utf8')).toMatch(/"h1:[\w+/]+=*"/);
    await applyForGood(workspace, ONE);
    expect((await workspace.run('init', '-no-color', '-input=false')).stdout).toMatch(
      /Using previously-installed/,
    );
    await destroy(workspace);

    const later = await open(byMirror(provider().mirror, '~> 0.2'));
    await later.configure(ONE);
    const refused = await later.run('init', '-no-color', '-input=false');
    expect(refused.code).toBe(1);
    expect(refused.stderr.replace(/\s+/g, ' ')).toMatch(/no available releases match the given constraints/);
  });

  test('by dev_overrides, a new process for each step', async () => {
    const workspace = await overridden();
    await applyForGood(workspace, ONE);
    await destroy(workspace);
  });

  test('attached to a running provider, which outlives the commands', async () => {
    const workspace = await attached();
    await applyForGood(workspace, ONE);
    await destroy(workspace);
    expect(process.kill(debug.pid, 0)).toBe(true);
  });

  test('its schema has the marks of the format', async () => {
    const workspace = await overridden();
    await workspace.configure(ONE);
    const { stdout } = await workspace.run('providers', 'schema', '-json');
    const schemas = (JSON.parse(stdout) as { provider_schemas: Record<string, ProviderSchema> })
      .provider_schemas[SOURCE];
    expect(Object.keys(schemas?.resource_schemas ?? {}).toSorted()).toEqual([
      'svc_dns_monitor',
      'svc_http_monitor',
      'svc_notification',
      'svc_status_page',
      'svc_status_page_component',
      'svc_status_page_component_group',
      'svc_tcp_monitor',
    ]);
    const http = schemas?.resource_schemas.svc_http_monitor?.block;
    expect(http?.attributes.name).toMatchObject({ type: 'string', required: true });
    expect(http?.attributes.regions).toMatchObject({ type: ['set', 'string'], optional: true });
    expect(http?.attributes.regions).not.toHaveProperty('computed');
    expect(http?.attributes.degraded_at).toMatchObject({ type: 'number', optional: true, computed: true });
    expect(http?.attributes.status).toMatchObject({ computed: true });
    expect(http?.block_types.headers).toMatchObject({ nesting_mode: 'list', max_items: 20 });
    expect(http?.block_types.body_assertions).toMatchObject({ max_items: 10 });
    const page = schemas?.resource_schemas.svc_status_page?.block;
    expect(page?.attributes.password).toMatchObject({ optional: true, sensitive: true });
    expect(page?.attributes.auth_email_domains).toMatchObject({ type: ['list', 'string'], optional: true });
  });

  // In generated configuration, Terraform writes an empty text as null. So no attribute with another default
  // than the empty text is empty in this test.
  test('configuration generated for what is imported', async () => {
    const page = await api.create('/v1/status-pages', { title: 'Page ü', slug: 'generated' });
    const group = await api.create(`/v1/status-pages/${page}/component-groups`, { name: 'Group' });
    const http = await api.create('/v1/monitors', {
      type: 'http',
      ...WEB,
      degraded_at: 0.1,
      body: `line\n"quoted" ${ref('not')} %{a}`,
      headers: [{ key: 'X-A', value: 'a' }],
      status_code_assertions: [{ target: 200, comparator: 'eq' }],
      regions: ['hosta-fra'],
    });
    const tcp = await api.create('/v1/monitors', {
      type: 'tcp',
      name: 'Port',
      uri: 'example.com:443',
      periodicity: '5m',
    });
    const dns = await api.create('/v1/monitors', {
      type: 'dns',
      name: 'Name',
      uri: 'example.com',
      periodicity: '1h',
    });
    const component = await api.create(`/v1/status-pages/${page}/components`, {
      type: 'monitor',
      monitor_id: http,
      order: 0,
      group_id: group,
    });
    const channel = await api.create('/v1/notifications', {
      provider_type: 'email',
      email: { email: 'a@example.com' },
      monitor_ids: [http, tcp],
    });
    const hook = await api.create('/v1/notifications', {
      provider_type: 'webhook',
      webhook: { endpoint: 'https://hook.example.com', headers: [{ key: 'X-A', value: 'a' }] },
    });
    const blocks = [
      { to: 'svc_http_monitor.http', id: http },
      { to: 'svc_tcp_monitor.tcp', id: tcp },
      { to: 'svc_dns_monitor.dns', id: dns },
      { to: 'svc_notification.channel', id: channel },
      { to: 'svc_notification.hook', id: hook },
      { to: 'svc_status_page.page', id: page },
      { to: 'svc_status_page_component_group.group', id: `${page}/${group}` },
      { to: 'svc_status_page_component.component', id: `${page}/${component}` },
    ];
    const workspace = await attached();
    await workspace.configure({ import: blocks });
    const generated = await workspace.run(
      'plan',
      '-no-color',
      '-input=false',
      '-generate-config-out=generated.tf',
    );
    expect(generated.stderr.replace(/\s+/g, ' ')).toBe('');
    expect(generated.stdout).toMatch(/Plan: 8 to import, 0 to add, 0 to change, 0 to destroy/);
    expect((await changesIn(workspace)).map(({ action }) => action)).toEqual(blocks.map(() => 'import'));
    await apply(workspace);
    await expectNothingToDo(workspace);
    // The generated configuration has ids instead of references, so Terraform might remove the monitor before
    // the component that shows it.
    const first = '-target=svc_status_page_component.component';
    expect((await workspace.run('destroy', '-input=false', '-auto-approve', first)).code).toBe(0);
    await destroy(workspace);
  });

  test('HCL: headers of a webhook in both spellings, dynamic blocks, for_each, count', async () => {
    const workspace = await attached();
    await workspace.configure({});
    await workspace.write('more.tf', HCL);
    await apply(workspace);
    await expectNothingToDo(workspace);
    const state = await workspace.state();
    const webhook = (name: string) => state[`svc_notification.${name}`]?.webhook;
    const headers = [
      { key: 'X-One', value: 'one' },
      { key: 'X-Two', value: 'two' },
    ];
    expect(webhook('blocks')).toEqual([{ endpoint: 'https://hook.example.com', headers }]);
    expect(webhook('list')).toEqual(webhook('blocks'));
    const origin = state['svc_http_monitor.many["a"]']?.id;
    expect(state['svc_http_monitor.dynamic']).toMatchObject({
      headers: [
        { key: 'X-0', value: origin },
        { key: 'X-1', value: 'b' },
      ],
      body_assertions: [{ target: String(origin), comparator: 'contains' }],
    });
    expect(state['svc_notification.all']?.monitor_ids).toHaveLength(4);
    // Removes a dynamic member and an instance.
    await workspace.write(
      'more.tf',
      HCL.replace('["a", "b"]', '["a"]').replace(/count( +)= 2/, 'count$1= 1'),
    );
    await apply(workspace);
    await expectNothingToDo(workspace);
    expect((await workspace.state())['svc_notification.all']?.monitor_ids).toHaveLength(2);
    await destroy(workspace);
  });

  test('terraform test', async () => {
    const workspace = await overridden();
    await workspace.configure({});
    await workspace.write('more.tf', MODULE);
    await workspace.write('main.tftest.hcl', TESTS);
    const { code, stdout, stderr } = await workspace.run('test', '-no-color');
    expect(stdout + stderr).toMatch(/Success! 4 passed, 0 failed/);
    expect(code).toBe(0);
    expect((await api.call('GET', '/v1/monitors')).body).toMatchObject({ total: 0 });
  });

  test('Ctrl-C during an apply: what is created is kept, the rest is not begun, and no process is left', async () => {
    const proxy = await startApiProxy(api.url);
    const held = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    proxy.treat(({ method, path }) => {
      if (method !== 'POST' || !path.startsWith('/v1/notifications')) return 'pass';
      arrived.resolve();
      return { hold: held.promise };
    });
    const workspace = await overridden({ base_url: proxy.url });
    const configuration = {
      resource: {
        svc_http_monitor: {
          web: WEB,
          after: { ...WEB, name: `after ${ref('svc_notification.slow.id')}` },
        },
        svc_notification: {
          slow: {
            provider_type: 'email',
            email: [{ email: 'a@example.com' }],
            monitor_ids: [ref('svc_http_monitor.web.id')],
          },
        },
      },
    };
    await workspace.configure(configuration);
    const running = workspace.start('apply', '-json', '-input=false', '-auto-approve');
    await arrived.promise;
    running.signal('SIGINT');
    await running.said('Interrupt received');
    held.resolve();
    const { code } = await running.result;
    expect(code).not.toBe(0);
    expect(() => running.signal('SIGCONT')).toThrow('ESRCH');
    expect(Object.keys(await workspace.state()).toSorted()).toEqual([
      'svc_http_monitor.web',
      'svc_notification.slow',
    ]);
    expect(await workspace.tainted()).toEqual([]);
    await applyForGood(workspace, configuration);
    expect((await api.call('GET', '/v1/monitors')).body).toMatchObject({ total: 2 });
    expect((await api.call('GET', '/v1/notifications')).body).toMatchObject({ total: 1 });
    await destroy(workspace);
    await proxy.close();
  });

  test('secrets are not shown in a plan', async () => {
    const workspace = await attached();
    await workspace.configure({
      resource: {
        svc_http_monitor: { web: { ...WEB, otlp_headers: { Authorization: 'hidden-one' } } },
        svc_status_page: {
          page: { title: 'a', slug: 'secrets', access_type: 'password', password: 'hidden-two' },
        },
        svc_notification: {
          chat: { provider_type: 'chat_a', chat_a: [{ webhook_url: 'https://example.com/hidden-three' }] },
        },
      },
    });
    const { stdout, stderr } = await workspace.run('plan', '-no-color', '-input=false');
    expect(stdout).toMatch(/password\s+= \(sensitive value\)/);
    expect(stdout + stderr).not.toMatch(/hidden-/);
    expect(errorsOf(await workspace.plan())).toEqual([]);
  });
});

type ProviderSchema = {
  resource_schemas: Record<
    string,
    { block: { attributes: Record<string, object>; block_types: Record<string, object> } }
  >;
};
