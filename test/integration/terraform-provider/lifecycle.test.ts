import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import type { TerraformObject, TerraformValue } from '@svc/terraform-provider/value.ts';
import { UNKNOWN } from '@svc/terraform-provider/value.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../support/api.ts';
import { channelSettings } from '../../support/channel-samples.ts';
import { configuredProvider, errorOf, type ProviderUnderTest } from '../../support/svc-provider.ts';

let api: RunningApi;
let svc: ProviderUnderTest;

beforeAll(async () => {
  api = await startApi();
  svc = configuredProvider(api.url, api.operator);
});
afterAll(() => api.dispose());

type Given = Readonly<Record<string, TerraformValue>>;
type Case = { kind: string; path: string; full: Given; changed: Given; drift: Record<string, unknown> };

/** The API does not distinguish an empty set from none, so after an import the plan sets it to empty. */
const NOT_TOLD_APART = { regions: null };

const MONITOR_LINES = { name: 'API', periodicity: '1m' };

const CASES: Record<string, Case> = {
  'HTTP monitor with everything': {
    kind: 'svc_http_monitor',
    path: '/v1/monitors',
    full: {
      ...MONITOR_LINES,
      url: 'https://user:s3cret@api.example.com/health',
      method: 'POST',
      body: '{"a":1}\n',
      follow_redirects: false,
      certificate_expiry_days: 30,
      timeout: 0,
      degraded_at: 812.5,
      retry: 0,
      active: true,
      public: true,
      description: '',
      regions: ['hostb-par', 'hosta-fra'],
      otlp_endpoint: 'https://otlp.example.com/v1/metrics',
      otlp_headers: { authorization: 'Bearer secret', 'x-tenant': 'a' },
      headers: [
        { key: 'X-B', value: 'two' },
        { key: 'X-A', value: 'one' },
      ],
      status_code_assertions: [{ target: 200, comparator: 'eq' }],
      body_assertions: [{ target: '', comparator: 'not_empty' }],
      header_assertions: [{ key: 'content-type', target: 'json', comparator: 'contains' }],
    },
    changed: { ...MONITOR_LINES, url: 'https://api.example.com/health' },
    drift: { retry: 7 },
  },
  'HTTP monitor with little': {
    kind: 'svc_http_monitor',
    path: '/v1/monitors',
    full: { ...MONITOR_LINES, url: 'https://api.example.com' },
    changed: { ...MONITOR_LINES, url: 'https://api.example.com', headers: [{ key: 'A', value: 'b' }] },
    drift: { name: 'other' },
  },
  'HTTP monitor with an empty set of regions': {
    kind: 'svc_http_monitor',
    path: '/v1/monitors',
    full: { ...MONITOR_LINES, url: 'https://api.example.com', regions: [] },
    changed: { ...MONITOR_LINES, url: 'https://api.example.com', regions: ['hosta-fra'] },
    drift: { regions: ['hosta-syd'] },
  },
  'TCP monitor': {
    kind: 'svc_tcp_monitor',
    path: '/v1/monitors',
    full: { ...MONITOR_LINES, uri: '[::1]:443', regions: ['hosta-fra'] },
    changed: { ...MONITOR_LINES, uri: 'example.com:80' },
    drift: { active: true },
  },
  'DNS monitor': {
    kind: 'svc_dns_monitor',
    path: '/v1/monitors',
    full: {
      ...MONITOR_LINES,
      uri: 'example.com',
      record_assertions: [{ record: 'A', target: '192.0.2.1', comparator: 'eq' }],
    },
    changed: { ...MONITOR_LINES, uri: 'example.com' },
    drift: { record_assertions: [{ record: 'MX', target: 'a', comparator: 'contains' }] },
  },
  'status page for everybody': {
    kind: 'svc_status_page',
    path: '/v1/status-pages',
    full: { title: 'Example', slug: 'everybody' },
    changed: {
      title: 'Example',
      slug: 'everybody-2',
      description: 'All of it',
      homepage_url: 'https://example.com',
      contact_url: 'mailto:ops@example.com',
      icon: 'https://example.com/icon.png',
      custom_domain: 'status.example.com',
    },
    drift: { title: 'other' },
  },
  'status page with a password': {
    kind: 'svc_status_page',
    path: '/v1/status-pages',
    full: { title: 'Example', slug: 'password', access_type: 'password', password: 'open sesame' },
    changed: { title: 'Example', slug: 'password', access_type: 'password', password: 'other' },
    drift: { password: 'drifted' },
  },
  'status page for e-mail domains': {
    kind: 'svc_status_page',
    path: '/v1/status-pages',
    full: {
      title: 'Example',
      slug: 'domains',
      access_type: 'email-domain',
      auth_email_domains: ['b.example.com', 'a.example.com'],
    },
    changed: { title: 'Example', slug: 'domains' },
    drift: { auth_email_domains: ['c.example.com'] },
  },
};

for (const type of CHANNEL_KINDS) {
  const written = (index: 0 | 1) =>
    ({ provider_type: type, [type]: [channelSettings(type, index)] }) as Given;
  CASES[`${type} channel`] = {
    kind: 'svc_notification',
    path: '/v1/notifications',
    full: { name: 'Ops', ...written(0) },
    changed: written(1),
    drift: { name: 'other' },
  };
}

/** Expects that the state has no unknown value, and has all known values of the plan. */
function expectApplied(state: TerraformObject, planned: TerraformObject): void {
  for (const [name, value] of Object.entries(planned)) {
    if (value === UNKNOWN) expect(state[name], name).not.toBe(UNKNOWN);
    else expect(state[name], name).toEqual(value);
  }
  expect(Object.keys(state).sort()).toEqual(Object.keys(planned).sort());
}

describe.each(Object.entries(CASES))('%s', (_name, { kind, path, full, changed, drift }) => {
  test('is created, read, changed, seen to drift, and removed', async () => {
    const resource = svc.resource(kind);
    expect(resource.calls.validate(resource.config(full), { allowsWriteOnly: true })).toEqual([]);

    const planned = resource.planned(full);
    const { state, diagnostics } = await resource.calls.create(planned);
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
    expectApplied(state!, planned);
    const member = `${path}/${String(state!.id)}`;

    const read = await resource.read(state!);
    expect(read).toEqual(state);
    expect(resource.planned(full, read)).toEqual(read);

    const plannedChange = resource.planned(changed, read);
    const updated = await resource.updated(read, changed);
    expectApplied(updated, plannedChange);
    expect(updated.id).toBe(state!.id);
    const readAgain = await resource.read(updated);
    expect(readAgain).toEqual(updated);
    expect(resource.planned(changed, readAgain)).toEqual(readAgain);

    const { body } = await api.call('GET', member);
    const put = await api.call('PUT', member, { ...(body as object), ...drift });
    expect(put.status).toBe(200);
    const drifted = await resource.read(readAgain);
    expect(resource.planned(changed, drifted)).not.toEqual(drifted);
    const restored = await resource.updated(drifted, changed);
    expect({ ...restored, updated_at: null }).toEqual({ ...readAgain, updated_at: null });

    expect(await resource.calls.remove(restored)).toEqual({ state: null, diagnostics: [] });
    expect((await api.call('GET', member)).status).toBe(404);
    expect(await resource.calls.read(restored)).toEqual({ state: null, diagnostics: [] });
    expect(await resource.calls.remove(restored)).toEqual({ state: null, diagnostics: [] });
    const late = await resource.calls.update(restored, plannedChange);
    expect(late.state).toEqual(restored);
    expect(errorOf(late).detail).toMatch(/was deleted in the meantime\. Plan again/);
  });

  test('shows no difference to a token that only reads', async () => {
    const resource = svc.resource(kind);
    const state = await resource.created(full);
    const reader = configuredProvider(api.url, api.reader).resource(kind);
    expect(await reader.read(state)).toEqual(state);
    expect(reader.planned(full, await reader.read(state))).toEqual(state);
    await resource.calls.remove(state);
  });

  test('is imported with everything that was declared', async () => {
    const resource = svc.resource(kind);
    const state = await resource.created(full);
    const imported = await resource.imported(String(state.id));
    const declared = full.regions?.toString() === '' ? { ...full, ...NOT_TOLD_APART } : full;
    expect(resource.planned(declared, imported)).toEqual(imported);
    await resource.calls.remove(state);
  });
});

describe('groups and components of a page', () => {
  let page: TerraformObject;
  let monitor: TerraformObject;

  beforeAll(async () => {
    page = await svc.resource('svc_status_page').created({ title: 'Parts', slug: 'parts' });
    monitor = await svc
      .resource('svc_http_monitor')
      .created({ ...MONITOR_LINES, url: 'https://example.com', public: true });
  });

  test('are created, changed and removed', async () => {
    const [groups, components] = [
      svc.resource('svc_status_page_component_group'),
      svc.resource('svc_status_page_component'),
    ];
    const group = await groups.created({ page_id: page.id!, name: 'Group' });
    expect(await groups.read(group)).toEqual(group);
    expect(await groups.imported(`${String(page.id)}/${String(group.id)}`)).toEqual(group);

    const given: Given = { page_id: page.id!, type: 'monitor', monitor_id: monitor.id!, order: 0 };
    const component = await components.created(given);
    expect(await components.read(component)).toEqual(component);
    expect(await components.imported(`${String(page.id)}/${String(component.id)}`)).toEqual(component);
    const grouped = await components.updated(component, { ...given, group_id: group.id!, group_order: 0 });
    expect(await components.read(grouped)).toEqual(grouped);
    expect(grouped).toMatchObject({ id: component.id, group_id: group.id, group_order: 0 });

    const renamed = await groups.updated(group, { page_id: page.id!, name: 'Renamed' });
    expect(await groups.read(renamed)).toEqual(renamed);
    expect((await components.calls.remove(grouped)).diagnostics).toEqual([]);
    expect((await groups.calls.remove(renamed)).diagnostics).toEqual([]);
    expect(await components.calls.read(grouped)).toEqual({ state: null, diagnostics: [] });
    expect(await groups.calls.read(renamed)).toEqual({ state: null, diagnostics: [] });
  });

  test('a component that is not shown is a warning, on every step', async () => {
    const hidden = await svc
      .resource('svc_tcp_monitor')
      .created({ ...MONITOR_LINES, uri: 'example.com:443' });
    const { calls, planned } = withPlan('svc_status_page_component', {
      page_id: page.id!,
      type: 'monitor',
      monitor_id: hidden.id!,
    });
    const created = await calls.create(planned);
    const warning = {
      severity: 'warning',
      // The summary has no id, so that Terraform shows the warnings of many components as one.
      summary: 'A component is not in full effect',
      detail: expect.stringContaining(`the monitor is not (component ${String(created.state?.id)})`),
    };
    expect(created.diagnostics).toMatchObject([warning]);
    expect((await calls.read(created.state!)).diagnostics).toMatchObject([warning]);
    await calls.remove(created.state!);
  });

  test('a monitor that a component shows is removed, and the component stays with a warning', async () => {
    const components = svc.resource('svc_status_page_component');
    const shown = await svc.resource('svc_tcp_monitor').created({ ...MONITOR_LINES, uri: 'example.com:443' });
    const component = await components.created({ page_id: page.id!, type: 'monitor', monitor_id: shown.id! });
    const outcome = await svc.resource('svc_tcp_monitor').calls.remove(shown);
    expect(outcome).toEqual({ state: null, diagnostics: [] });
    const read = await components.calls.read(component);
    expect(read.state).toMatchObject({ id: component.id, type: 'monitor', monitor_id: null });
    expect(read.diagnostics).toMatchObject([
      { severity: 'warning', detail: expect.stringContaining('its monitor was removed') },
    ]);
    await components.calls.remove(component);
  });

  test('are gone when their page was removed', async () => {
    const other = await svc.resource('svc_status_page').created({ title: 'Gone', slug: 'gone' });
    const components = svc.resource('svc_status_page_component');
    const component = await components.created({ page_id: other.id!, type: 'static', name: 'Text' });
    await svc.resource('svc_status_page').calls.remove(other);
    expect(await components.calls.read(component)).toEqual({ state: null, diagnostics: [] });
    expect(await components.calls.remove(component)).toEqual({ state: null, diagnostics: [] });
  });

  function withPlan(kind: string, given: Given) {
    const resource = svc.resource(kind);
    return { calls: resource.calls, planned: resource.planned(given) };
  }
});

test('monitors of a channel are a set without order', async () => {
  const monitors = svc.resource('svc_tcp_monitor');
  const ids: string[] = [];
  for (let count = 0; count < 11; count += 1) {
    ids.unshift(String((await monitors.created({ ...MONITOR_LINES, uri: 'example.com:443' })).id));
  }
  const channels = svc.resource('svc_notification');
  const given = {
    provider_type: 'webhook',
    webhook: [{ endpoint: 'https://example.com/a' }],
    monitor_ids: ids,
  };
  const state = await channels.created(given);
  expect(state.monitor_ids).toEqual(ids);
  expect(await channels.read(state)).toEqual(state);
  const without = await channels.updated(state, { ...given, monitor_ids: null });
  expect(without.monitor_ids).toEqual([]);
  const { body } = await api.call('GET', `/v1/notifications/${String(state.id)}`);
  expect(body).toMatchObject({ monitor_ids: [] });
});

test('a channel that svc may not post to is an error, which names the setting that allows it', async () => {
  const outcome = await svc
    .resource('svc_notification')
    .calls.create(
      svc
        .resource('svc_notification')
        .planned({ provider_type: 'webhook', webhook: [{ endpoint: 'http://10.0.0.1/' }] }),
    );
  expect(outcome.diagnostics).toMatchObject([{ severity: 'error' }]);
  expect(JSON.stringify(outcome.diagnostics)).toContain('SVC_CHANNEL_EGRESS_ALLOW');
});

describe('imports', () => {
  test.each([
    ['svc_http_monitor', 'abc', '<monitor_id>', '"12"'],
    ['svc_http_monitor', '', '<monitor_id>', '"12"'],
    ['svc_http_monitor', '1/2', '<monitor_id>', '"12"'],
    ['svc_http_monitor', '05', '<monitor_id>', '"12"'],
    ['svc_notification', ' 5', '<notification_id>', '"12"'],
    ['svc_status_page', '1/', '<page_id>', '"12"'],
    ['svc_status_page_component', '5', '<page_id>/<component_id>', '"12/34"'],
    ['svc_status_page_component', '5/6/7', '<page_id>/<component_id>', '"12/34"'],
    ['svc_status_page_component_group', '5/x', '<page_id>/<group_id>', '"12/34"'],
  ])('%s by %j is refused with the shape and an example', (kind, id, shape, example) => {
    const outcome = svc.resource(kind).calls.import(id);
    expect(outcome.state).toBeNull();
    const { detail } = errorOf(outcome);
    expect(detail).toContain(shape);
    expect(detail).toContain(example);
  });

  test('a monitor of another type is refused with the right resource type, and the state stays', async () => {
    const tcp = await svc.resource('svc_tcp_monitor').created({ ...MONITOR_LINES, uri: 'example.com:443' });
    const { calls } = svc.resource('svc_http_monitor');
    const { state } = calls.import(String(tcp.id));
    const outcome = await calls.read(state!);
    expect(outcome.state).toEqual(state);
    expect(errorOf(outcome).detail).toBe(
      `The monitor ${String(tcp.id)} is of the type tcp: import it as svc_tcp_monitor.`,
    );
  });

  test('what is not there is gone', async () => {
    const { calls } = svc.resource('svc_http_monitor');
    expect(await calls.read(calls.import('999999').state!)).toEqual({ state: null, diagnostics: [] });
  });
});

test('an invalid id in the state is an error, and the state stays', async () => {
  const { calls } = svc.resource('svc_http_monitor');
  const state = { ...svc.resource('svc_http_monitor').config({}), id: '../tokens' };
  for (const outcome of [
    await calls.read(state),
    await calls.remove(state),
    await calls.update(state, state),
  ]) {
    expect(outcome.state).toEqual(state);
    expect(errorOf(outcome).detail).toContain('id is "../tokens", not a decimal number');
  }
});

test('ten operations can run at once', async () => {
  const monitors = svc.resource('svc_http_monitor');
  const states = await Promise.all(
    Array.from({ length: 10 }, (_none, index) =>
      monitors.created({ ...MONITOR_LINES, name: `m${index}`, url: 'https://example.com' }),
    ),
  );
  expect(new Set(states.map(({ id }) => id)).size).toBe(10);
  expect(await Promise.all(states.map((state) => monitors.read(state)))).toEqual(states);
});
