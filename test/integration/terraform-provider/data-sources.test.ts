import type { Schema } from '@svc/terraform-provider/schema.ts';
import { type TerraformObject, type TerraformValue, UNKNOWN } from '@svc/terraform-provider/value.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../support/api.ts';
import { configOf, configuredProvider, errorOf, type ProviderUnderTest } from '../../support/svc-provider.ts';

let api: RunningApi;
let svc: ProviderUnderTest;

beforeAll(async () => {
  api = await startApi();
  svc = configuredProvider(api.url, api.operator);
});
afterAll(() => api.dispose());

const source = (name: string, from = svc) => from.provider.dataSources[name]!;

function read(name: string, given: Readonly<Record<string, TerraformValue>>, from = svc) {
  const { schema } = source(name, from);
  return source(name, from).read(configOf(schema, given));
}

/** Expects that every attribute is present, and none is unknown. */
function expectComplete(schema: Schema, state: TerraformObject | null): void {
  expect(Object.keys(state ?? {}).sort()).toEqual(Object.keys(schema.attributes).sort());
  expect(Object.values(state ?? {})).not.toContain(UNKNOWN);
}

test('they have the attributes of the format, and no others', () => {
  const settings = Object.fromEntries(
    Object.entries(svc.provider.dataSources).map(([name, { schema }]) => [
      name,
      Object.entries(schema.attributes)
        .map(
          ([attribute, { setting, sensitive }]) => `${attribute} ${setting}${sensitive ? ' sensitive' : ''}`,
        )
        .sort(),
    ]),
  );
  const computed = (names: string) => names.split(' ').map((name) => `${name} computed`);
  expect(settings).toEqual({
    svc_monitor: [
      'id required',
      ...computed('type name url uri periodicity method active public description timeout status'),
    ].sort(),
    svc_monitors: [
      'limit optional-computed',
      'monitors computed',
      'offset optional-computed',
      'total computed',
    ],
    svc_notification: [
      'id required',
      ...computed(
        'name provider_type group_alerts notify_unknown remind_every monitor_ids created_at updated_at',
      ),
    ].sort(),
    svc_status_page: [
      'id required',
      'password computed sensitive',
      ...computed(
        'title slug description homepage_url contact_url icon custom_domain published access_type auth_email_domains theme created_at updated_at',
      ),
    ].sort(),
  });
  for (const { schema } of Object.values(svc.provider.dataSources)) {
    expect(schema.blocks).toEqual({});
    for (const { description } of Object.values(schema.attributes)) expect(description).not.toBe('');
  }
});

describe('svc_monitor', () => {
  test('of HTTP has a URL and a method', async () => {
    const id = await api.create('/v1/monitors', {
      type: 'http',
      name: 'API',
      url: 'https://example.com',
      method: 'HEAD',
      periodicity: '30s',
      description: 'd',
      active: true,
      headers: [{ key: 'a', value: 'secret' }],
    });
    const { state, diagnostics } = await read('svc_monitor', { id });
    expect(diagnostics).toEqual([]);
    expectComplete(source('svc_monitor').schema, state);
    expect(state).toEqual({
      id,
      type: 'http',
      name: 'API',
      url: 'https://example.com',
      uri: null,
      periodicity: '30s',
      method: 'HEAD',
      active: true,
      public: false,
      description: 'd',
      timeout: 45_000,
      status: 'unknown',
    });
  });

  test('of HTTP shows its user information only to tokens that may write', async () => {
    const url = 'https://user:s3cret@example.com/health';
    const id = await api.create('/v1/monitors', { type: 'http', name: 'a', url, periodicity: '1m' });
    expect((await read('svc_monitor', { id })).state).toMatchObject({ url });
    const reader = configuredProvider(api.url, api.reader);
    const { state } = await read('svc_monitor', { id }, reader);
    expect(state).toMatchObject({ url: 'https://example.com/health' });
  });

  test.each(['tcp', 'dns'])('of %s has a URI, and neither URL nor method', async (type) => {
    const uri = type === 'tcp' ? 'example.com:443' : 'example.com';
    const id = await api.create('/v1/monitors', { type, name: 'a', uri, periodicity: '1m' });
    const { state } = await read('svc_monitor', { id });
    expectComplete(source('svc_monitor').schema, state);
    expect(state).toMatchObject({ id, type, uri, url: null, method: null, description: null });
  });
});

test('svc_notification shows the monitors, not the settings', async () => {
  const monitorId = await api.create('/v1/monitors', {
    type: 'tcp',
    name: 'a',
    uri: 'example.com:443',
    periodicity: '1m',
  });
  const id = await api.create('/v1/notifications', {
    name: 'Ops',
    provider_type: 'chat_a',
    chat_a: { webhook_url: 'https://example.com/secret' },
    monitor_ids: [monitorId],
  });
  const { state, diagnostics } = await read('svc_notification', { id });
  expect(diagnostics).toEqual([]);
  expectComplete(source('svc_notification').schema, state);
  expect(state).toMatchObject({ id, name: 'Ops', provider_type: 'chat_a', monitor_ids: [monitorId] });
  expect(JSON.stringify(state)).not.toContain('secret');
});

test('svc_status_page shows the password to tokens that may write, null to others', async () => {
  const page = { title: 'a', slug: 'secret', access_type: 'password', password: 'open sesame' };
  const id = await api.create('/v1/status-pages', page);
  const { state, diagnostics } = await read('svc_status_page', { id });
  expect(diagnostics).toEqual([]);
  expectComplete(source('svc_status_page').schema, state);
  expect(state).toMatchObject({ ...page, id, published: true, theme: 'system', auth_email_domains: null });
  const reading = configuredProvider(api.url, api.reader);
  const masked = await read('svc_status_page', { id }, reading);
  expect(masked.state).toEqual({ ...state, password: null });
});

describe.each([
  ['svc_monitor', 'monitor'],
  ['svc_notification', 'notification channel'],
  ['svc_status_page', 'status page'],
])('%s', (name, noun) => {
  test('that does not exist is an error that names it', async () => {
    const outcome = await read(name, { id: '999999' });
    expect(outcome.state).toBeNull();
    expect(errorOf(outcome)).toMatchObject({
      path: ['id'],
      detail: expect.stringContaining(`There is no ${noun} 999999`),
    });
  });

  test.each(['abc', '', '05', '1/2', '1?x=1'])(
    'by the id %j is refused before anything is asked',
    async (id) => {
      const outcome = await read(name, { id });
      expect(errorOf(outcome)).toMatchObject({
        path: ['id'],
        detail: expect.stringContaining('is not an id'),
      });
      expect(errorOf({ diagnostics: source(name).validate({ id }) })).toMatchObject({ path: ['id'] });
    },
  );

  test('by an id that is not known yet is not validated', () => {
    expect(source(name).validate({ id: UNKNOWN })).toEqual([]);
  });
});

describe('svc_monitors', () => {
  let own: RunningApi;
  let from: ProviderUnderTest;

  beforeAll(async () => {
    own = await startApi();
    from = configuredProvider(own.url, own.operator);
    for (let index = 0; index < 55; index += 1) {
      const type = (['http', 'tcp', 'dns'] as const)[index % 3]!;
      const target = {
        http: { url: 'https://a.example' },
        tcp: { uri: 'a.example:1' },
        dns: { uri: 'a.example' },
      };
      const body = { type, name: `m${index}`, periodicity: '1m', ...target[type] };
      expect((await own.call('POST', '/v1/monitors', body)).status).toBe(201);
    }
  });
  afterAll(() => own.dispose());

  test('has its defaults in the result', async () => {
    const { state, diagnostics } = await read('svc_monitors', {}, from);
    expect(diagnostics).toEqual([]);
    expect(state).toMatchObject({ limit: 50, offset: 0 });
    expect(state?.monitors).toHaveLength(50);
    expect((state!.monitors as TerraformValue[])[1]).toEqual({ id: '2', name: 'm1', type: 'tcp' });
  });

  test('takes a limit and an offset', async () => {
    const { state } = await read('svc_monitors', { limit: 100, offset: 53 }, from);
    expect(state).toMatchObject({ limit: 100, offset: 53 });
    expect((state!.monitors as TerraformObject[]).map(({ name }) => name)).toEqual(['m53', 'm54']);
    expect((await read('svc_monitors', { offset: 1_000 }, from)).state).toMatchObject({
      monitors: [],
      total: expect.any(Number),
    });
  });

  test.each([
    ['limit', 0],
    ['limit', 101],
    ['limit', 1.5],
    ['offset', -1],
    ['offset', 0.5],
    ['offset', 1e15],
  ])('refuses the %s %d', async (name, value) => {
    const config = configOf(source('svc_monitors').schema, { [name]: value });
    const expected = { path: [name], detail: expect.stringContaining('must be a whole number from') };
    expect(errorOf({ diagnostics: source('svc_monitors').validate(config) })).toMatchObject(expected);
    expect(errorOf(await source('svc_monitors', from).read(config))).toMatchObject(expected);
  });

  test('values that are not known yet are not validated', () => {
    expect(source('svc_monitors').validate({ limit: UNKNOWN, offset: UNKNOWN })).toEqual([]);
  });
});
