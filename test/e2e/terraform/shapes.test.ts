/** Shapes of values that providers often get wrong. With each, the second plan must be empty. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningApi } from '../../support/api.ts';
import { providerFor, startApiWithoutLimit } from '../../support/terraform/api.ts';
import { describeTerraform } from '../../support/terraform/describe-terraform.ts';
import { apply, applyForGood, destroy, expectNothingToDo } from '../../support/terraform/expectations.ts';
import { type Body, type Configuration, ref } from '../../support/terraform/runner.ts';
import type { TerraformWorkspace } from '../../support/terraform/terraform-workspace.ts';

const WEB = { name: 'Web', url: 'https://example.com', periodicity: '1m' };
const HOOK = { provider_type: 'webhook', webhook: [{ endpoint: 'https://hook.example.com' }] };

const monitors = (bodies: Record<string, Body>): NonNullable<Configuration['resource']> => ({
  svc_http_monitor: Object.fromEntries(
    Object.entries(bodies).map(([name, body]) => [name, { ...WEB, ...body }]),
  ),
});

const header = (index: number) => ({ key: `X-Header-${index}`, value: `value ${index}` });
const range = (count: number) => Array.from({ length: count }, (_, index) => index);
const assertion = (index: number) => ({ target: 100 + index, comparator: 'gte' });

let api: RunningApi;
beforeAll(async () => {
  api = await startApiWithoutLimit();
});
afterAll(() => api.dispose());

describeTerraform('shapes of values', (terraform) => {
  let workspace: TerraformWorkspace;
  beforeAll(async () => {
    workspace = await terraform.workspace(providerFor(api));
  });
  afterAll(() => workspace.dispose());

  /** The resource, as the API answers it. */
  async function stored(address: string, collection: string): Promise<Record<string, unknown>> {
    const { id } = (await workspace.state())[address] ?? {};
    return (await api.call('GET', `${collection}/${id}`)).body as Record<string, unknown>;
  }

  test('zeros, empty texts, fractions, maxima, orders and texts of all scripts', async () => {
    await applyForGood(workspace, {
      resource: {
        ...monitors({
          zeros: { timeout: 0, retry: 0, degraded_at: 0 },
          fraction: { degraded_at: 0.1 },
          small: { degraded_at: 1e-7 },
          large: { degraded_at: 9_007_199_254_740_991 },
          number_as_text: { timeout: '1000', active: 'true' },
          empty: { body: '', description: '' },
          unicode: {
            name: 'é 東京 🚦 ﷽ e\u0301',
            description: 'line\nline\t"quoted" \\ %% $ \u00a0',
            body: '{"ü":1}\r\n',
          },
          sets: { regions: ['hostc-us-east4', 'hosta-fra', 'hostb-par', 'hosta-fra'] },
          no_regions: { regions: [] },
          no_headers: { otlp_headers: {}, headers: [] },
          targets: {
            body_assertions: [{ target: '', comparator: 'empty' }],
            header_assertions: [{ key: 'X-A', target: '', comparator: 'not_empty' }],
          },
          maxima: {
            headers: range(20).map(header),
            status_code_assertions: range(10).map(assertion),
            body_assertions: range(10).map((index) => ({ target: `t${index}`, comparator: 'contains' })),
            header_assertions: range(10).map((index) => ({
              key: `X-${index}`,
              target: '',
              comparator: 'eq',
            })),
          },
          header_values: {
            headers: [
              { key: 'X-Same', value: 'one' },
              { key: 'X-Same', value: '' },
            ],
          },
        }),
        svc_notification: {
          bare: HOOK,
          none: {
            ...HOOK,
            monitor_ids: [],
            webhook: [{ endpoint: 'https://hook.example.com', headers: [] }],
          },
          list: {
            ...HOOK,
            webhook: [{ endpoint: 'https://hook.example.com', headers: [header(1), header(2)] }],
          },
          sets: {
            ...HOOK,
            monitor_ids: [
              ref('svc_http_monitor.zeros.id'),
              ref('svc_http_monitor.empty.id'),
              ref('svc_http_monitor.zeros.id'),
            ],
          },
        },
        svc_status_page: {
          no_domains: { title: 'A', slug: 'shapes-a', auth_email_domains: [], description: '' },
          order_kept: {
            title: 'B',
            slug: 'shapes-b',
            access_type: 'email-domain',
            auth_email_domains: ['z.example.com', 'a.example.com'],
          },
        },
        svc_status_page_component: {
          zero: {
            page_id: ref('svc_status_page.no_domains.id'),
            type: 'static',
            order: 0,
            group_order: 0,
            name: '',
          },
          least: { page_id: ref('svc_status_page.no_domains.id'), type: 'static', order: -2_147_483_648 },
        },
      },
    });
    const state = await workspace.state();
    expect(state['svc_http_monitor.zeros']).toMatchObject({ timeout: 0, retry: 0, degraded_at: 0 });
    expect(state['svc_http_monitor.fraction']).toMatchObject({ degraded_at: 0.1 });
    expect(state['svc_http_monitor.no_regions']).toMatchObject({ regions: [] });
    expect(state['svc_http_monitor.zeros']).toMatchObject({ regions: null, otlp_headers: null });
    expect(state['svc_notification.bare']).toMatchObject({ monitor_ids: [] });
    expect(state['svc_status_page.order_kept']).toMatchObject({
      auth_email_domains: ['z.example.com', 'a.example.com'],
    });
    expect(await stored('svc_http_monitor.zeros', '/v1/monitors')).toMatchObject({ timeout: 0, retry: 0 });
    expect(await stored('svc_http_monitor.fraction', '/v1/monitors')).toMatchObject({ degraded_at: 0.1 });
  });

  test('changes between left out, null and empty, in each direction', async () => {
    const variants: Record<string, Body[]> = {
      regions: [
        { regions: ['hosta-fra'] },
        { regions: [] },
        {},
        { regions: null },
        { regions: ['hosta-fra'] },
        {},
      ],
      text: [{ description: 'a' }, { description: '' }, {}, { description: null }, { description: 'b' }, {}],
      map: [
        { otlp_headers: { a: 'b' } },
        { otlp_headers: {} },
        {},
        { otlp_headers: null },
        { otlp_headers: { c: '' } },
        {},
      ],
      blocks: [
        { headers: [header(1), header(2)] },
        { headers: [header(2)] },
        {},
        { headers: [header(3)] },
        { headers: [] },
        {},
      ],
      fallback: [{ timeout: 0, retry: 0 }, {}, { timeout: null }, { retry: 10 }, { timeout: 45_000 }, {}],
    };
    for (const turn of range(6)) {
      const bodies = Object.entries(variants).map(([name, bodies]) => [name, bodies[turn] ?? {}]);
      await applyForGood(workspace, { resource: monitors(Object.fromEntries(bodies)) }, `turn ${turn}`);
    }
    const bare = {
      regions: null,
      description: null,
      otlp_headers: null,
      headers: [],
      timeout: 45_000,
      retry: 3,
    };
    for (const name of Object.keys(variants)) {
      const { headers, ...attributes } = await stored(`svc_http_monitor.${name}`, '/v1/monitors');
      expect({ ...attributes, headers: headers ?? [] }).toMatchObject(bare);
    }
  });

  test('what is removed from the configuration is cleared on the server', async () => {
    const resource = monitors({ a: {}, b: {} });
    const ids = [ref('svc_http_monitor.a.id'), ref('svc_http_monitor.b.id')];
    const channel = {
      ...HOOK,
      name: 'Hook',
      webhook: [{ endpoint: 'https://hook.example.com', headers: [header(1)] }],
    };
    const hook = async (body: Body) => {
      await applyForGood(workspace, { resource: { ...resource, svc_notification: { hook: body } } });
      return stored('svc_notification.hook', '/v1/notifications');
    };
    const full = await hook({ ...channel, monitor_ids: ids });
    expect(full.monitor_ids).toHaveLength(2);
    const reversed = { ...channel, monitor_ids: ids.toReversed() };
    await workspace.configure({ resource: { ...resource, svc_notification: { hook: reversed } } });
    await expectNothingToDo(workspace);
    expect(await hook(HOOK)).toMatchObject({ monitor_ids: [], name: null, webhook: { headers: null } });
    expect((await hook({ ...HOOK, monitor_ids: ids.slice(1) })).monitor_ids).toHaveLength(1);
    expect(await hook({ ...HOOK, monitor_ids: [] })).toMatchObject({ monitor_ids: [] });
    const { webhook: _, ...other } = HOOK;
    const email = await hook({ ...other, provider_type: 'email', email: [{ email: 'a@example.com' }] });
    expect(email).toMatchObject({ id: full.id, provider_type: 'email' });
    expect(email).not.toHaveProperty('webhook');
  });

  test('values that are only known after the apply, in texts, sets, maps and blocks', async () => {
    const id = (name: string) => ref(`svc_http_monitor.${name}.id`);
    await applyForGood(workspace, {
      resource: {
        ...monitors({
          origin: {},
          texts: {
            description: `after ${id('origin')}`,
            body: id('origin'),
            url: `https://example.com/${id('origin')}`,
          },
          maps: { otlp_headers: { 'X-Origin': id('origin'), 'X-Other': 'b' } },
          blocks: {
            headers: [{ key: 'X-Origin', value: id('origin') }],
            body_assertions: [{ target: `of ${id('texts')}`, comparator: 'contains' }],
          },
        }),
        svc_notification: {
          hook: {
            ...HOOK,
            name: `for ${id('origin')}`,
            webhook: [
              {
                endpoint: `https://hook.example.com/${id('origin')}`,
                headers: [{ key: 'X', value: id('texts') }],
              },
            ],
            monitor_ids: [id('origin'), id('blocks'), id('maps')],
          },
        },
      },
    });
    const state = await workspace.state();
    const origin = state['svc_http_monitor.origin']?.id;
    expect(state['svc_http_monitor.texts']).toMatchObject({ description: `after ${origin}` });
    expect(state['svc_http_monitor.maps']).toMatchObject({
      otlp_headers: { 'X-Origin': origin, 'X-Other': 'b' },
    });
    expect(state['svc_notification.hook']).toMatchObject({
      webhook: [{ headers: [{ key: 'X', value: state['svc_http_monitor.texts']?.id }] }],
    });
  });

  describe('after all of them', () => {
    test('nothing is left', async () => {
      await apply(workspace, {});
      await expectNothingToDo(workspace);
      await destroy(workspace);
      expect((await api.call('GET', '/v1/monitors')).body).toMatchObject({ total: 0 });
    });
  });
});
