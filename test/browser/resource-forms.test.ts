import { formOf } from '@svc/coordinator/dashboard/forms/fields.ts';
import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { DEFINITIONS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { pageProblems } from '../support/browser/page-problems.ts';
import { nameOf, skipsBrowser, TestBrowser, VIEWS } from '../support/browser.ts';
import { channelBodies } from '../support/channel-samples.ts';
import { fillForm, messagesAtFields, save } from '../support/dashboard/fill-form.ts';
import { openDashboard } from '../support/dashboard.ts';

type Json = Readonly<Record<string, unknown>>;

let api: RunningApi;
let browser: TestBrowser;

/** A kind of form: its paths, and a resource with a value for each field. */
type Kind = {
  readonly name: string;
  readonly kind: ResourceKind;
  /** It is changed and removed like another kind, so only its own fields are tested, in one view. */
  readonly isLikeAnother?: boolean;
  /**
   * Paths of the dashboard and the API, and the resource. It is called after the objects around it were
   * created.
   */
  readonly of: () => Promise<{ newPath: string; list: string; pages: string; resource: Json; changed: Json }>;
};

const REGIONS = { regions: ['hosta-fra', 'hostc-us-west2'] };
const OTLP = {
  otlp_endpoint: 'https://otlp.example.com/v1/metrics?key=1',
  otlp_headers: { Authorization: 'Bearer s3cret', 'X-Tenant': 'a' },
};
const RUNNING = {
  periodicity: '5m',
  timeout: 5000,
  degraded_at: 800.5,
  retry: 1,
  quorum: '2',
  confirm_after: 2,
  recover_after: 3,
  public: true,
  active: true,
};

const MONITORS: Readonly<Record<string, Json>> = {
  http: {
    ...RUNNING,
    ...REGIONS,
    ...OTLP,
    name: 'Shop <b>&amp; "quotes"</b>',
    description: 'two\nlines',
    url: 'https://u:p@shop.example/health?key=abc',
    method: 'POST',
    body: '\n{"a": 1}\n',
    follow_redirects: false,
    certificate_expiry_days: 14,
    headers: [
      { key: 'Authorization', value: 'Bearer s3cret' },
      { key: 'X-A', value: 'b' },
    ],
    status_code_assertions: [{ target: 200, comparator: 'eq' }],
    body_assertions: [{ target: 'ok', comparator: 'contains' }],
    header_assertions: [{ key: 'Server', target: '', comparator: 'not_empty' }],
  },
  tcp: { ...RUNNING, ...REGIONS, ...OTLP, name: 'Database', uri: '[::1]:5432' },
  dns: {
    ...RUNNING,
    name: 'Zone',
    uri: 'example.com',
    record_assertions: [
      { record: 'A', target: '192.0.2.1', comparator: 'eq' },
      { record: 'TXT', target: 'v=spf1', comparator: 'not_contains' },
    ],
  },
};

let made = 0;
const unique = (name: string) => {
  made += 1;
  return `${name}-${made}`;
};

const aMonitor = () =>
  api.create('/v1/monitors', { type: 'tcp', name: unique('m'), uri: 'a.example:1', periodicity: '1m' });
const aPage = () => api.create('/v1/status-pages', { title: 'Page', slug: unique('page') });

const KINDS: readonly Kind[] = [
  ...Object.entries(MONITORS).map(([type, resource]) => ({
    name: `${type} monitor`,
    kind: `svc_${type}_monitor` as ResourceKind,
    of: async () => ({
      newPath: `/monitors/new?type=${type}`,
      list: '/v1/monitors',
      pages: '/monitors',
      resource,
      changed: { name: 'Other name' },
    }),
  })),
  ...channelBodies().map((body) => ({
    name: `channel ${body.provider_type}`,
    kind: 'svc_notification' as const,
    isLikeAnother: body.provider_type !== 'webhook',
    of: async () => ({
      newPath: `/channels/new?type=${body.provider_type}`,
      list: '/v1/notifications',
      pages: '/channels',
      resource: {
        ...body,
        name: 'Ops',
        group_alerts: false,
        remind_every: '1h',
        monitor_ids: [await aMonitor(), await aMonitor()],
      },
      changed: { name: 'Night shift' },
    }),
  })),
  {
    name: 'status page',
    kind: 'svc_status_page',
    of: async () => ({
      newPath: '/pages/new',
      list: '/v1/status-pages',
      pages: '/pages',
      resource: {
        title: 'Example',
        slug: unique('example'),
        description: 'Below\nthe title',
        homepage_url: 'https://example.com',
        contact_url: 'mailto:help@example.com',
        icon: 'https://example.com/icon.png',
        custom_domain: `${unique('status')}.example.com`,
        access_type: 'password',
        password: 's3cret',
        auth_email_domains: ['example.com', 'example.org'],
      },
      changed: { title: 'Other title' },
    }),
  },
  {
    name: 'component of a monitor',
    kind: 'svc_status_page_component',
    of: async () => {
      const page = await aPage();
      const group = await api.create(`/v1/status-pages/${page}/component-groups`, { name: 'Web' });
      return {
        newPath: `/pages/${page}/components/new`,
        list: `/v1/status-pages/${page}/components`,
        pages: `/pages/${page}/components`,
        resource: {
          type: 'monitor',
          monitor_id: await aMonitor(),
          name: 'Shop',
          description: 'What it is',
          order: 3,
          group_id: group,
          group_order: -1,
        },
        changed: { name: 'Store' },
      };
    },
  },
  {
    name: 'component group',
    kind: 'svc_status_page_component_group',
    of: async () => {
      const page = await aPage();
      return {
        newPath: `/pages/${page}/groups/new`,
        list: `/v1/status-pages/${page}/component-groups`,
        pages: `/pages/${page}/groups`,
        resource: { name: 'Web' },
        changed: { name: 'Network' },
      };
    },
  },
];

const CASES = KINDS.flatMap((kind, index) =>
  VIEWS.filter((_view, at) => kind.isLikeAnother !== true || at === index % VIEWS.length).map((view) => {
    const what = kind.isLikeAnother === true ? 'make and save' : 'make, save, change and remove';
    return [`${what} a ${kind.name} ${nameOf(view)}`, kind, view] as const;
  }),
);

describe.skipIf(skipsBrowser)('forms of resources', () => {
  beforeAll(async () => {
    api = await startApi();
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.dispose();
  });

  test('there is a case for each kind of channel', () => {
    expect(channelBodies().map(({ provider_type: kind }) => kind)).toEqual([...CHANNEL_KINDS]);
  });

  test.each(CASES)('%s', async (_name, { kind, isLikeAnother = false, of }, view) => {
    const { newPath, list, pages, resource, changed } = await of();
    const form = formOf(DEFINITIONS[kind]);
    const visitor = await browser.visitor(view);
    const page = await openDashboard(api, visitor, newPath);
    expect(await pageProblems(page)).toEqual([]);
    await fillForm(page, form, resource);
    await save(page);
    await page.getByRole('status').getByText('was created').waitFor();
    const newest = (await api.call('GET', `${list}?limit=100`)).body as { data: { id: string }[] };
    const id = newest.data.at(-1)?.id ?? '';
    const stored = () => api.call('GET', `${list}/${id}`);
    const first = await stored();
    expect(first.body).toMatchObject(resource);

    const [path] = newPath.split('/new');
    const edit = kind.startsWith('svc_status_page_') ? `${pages}/${id}` : `${pages}/${id}/edit`;
    expect(path).toBe(pages);
    await page.goto(`${api.url}${edit}`);
    await save(page);
    await page.getByRole('status').getByText('was saved').waitFor();
    expect((await stored()).headers.get('etag')).toBe(first.headers.get('etag'));
    if (isLikeAnother) {
      await visitor.close();
      return;
    }

    await page.goto(`${api.url}${edit}`);
    for (const [name, value] of Object.entries(changed))
      await page.locator(`[name="${name}"]`).fill(String(value));
    await save(page);
    await page.getByRole('status').getByText('was saved').waitFor();
    const { updated_at: _at, ...before } = first.body as Record<string, unknown>;
    expect((await stored()).body).toMatchObject({ ...before, ...changed });

    await page.goto(`${api.url}${pages}/${id}/delete`);
    await page.locator('button.button-danger').click();
    await page.getByRole('status').getByText('was removed').waitFor();
    expect((await stored()).status).toBe(404);
    await visitor.close();
  });

  test.each(VIEWS.map((view) => [nameOf(view), view] as const))(
    'show the messages of the API at their fields, and keep the draft, %s',
    async (_name, view) => {
      const visitor = await browser.visitor(view);
      const page = await openDashboard(api, visitor, '/monitors/new?type=http');
      await fillForm(page, formOf(DEFINITIONS.svc_http_monitor), {
        name: '',
        url: 'shop.example',
        periodicity: '1m',
        timeout: 200_000,
        headers: [{ key: 'Content-Length', value: 's3cret' }],
        status_code_assertions: [{ target: 200, comparator: 'eq' }],
        otlp_headers: { Host: 'a' },
      });
      await page.locator('[name="retry"]').fill('three');
      await save(page);
      await page.getByRole('alert').getByText('Nothing was saved').waitFor();
      const body = {
        type: 'http',
        name: '',
        url: 'shop.example',
        periodicity: '1m',
        timeout: 200_000,
        retry: 'three',
      };
      const said = (await api.call('POST', '/v1/monitors', body)).body as {
        errors: { pointer: string; message: string }[];
      };
      const expected = Object.fromEntries(
        said.errors.map(({ pointer, message }) => [pointer.slice(1), message]),
      );
      const shown = await messagesAtFields(page);
      expect(shown).toMatchObject(expected);
      expect(Object.keys(expected).sort()).toEqual(['name', 'retry', 'timeout', 'url']);
      expect(shown['headers.0.key']).toContain('names a header that the connection itself sets');
      expect(await page.getByText('OTLP header', { exact: false }).count()).toBeGreaterThan(0);
      expect(await page.locator('[name="headers.0.value"]').inputValue()).toBe('s3cret');
      expect(await page.locator('[name="retry"]').inputValue()).toBe('three');
      expect(await page.locator('[name="timeout"]').getAttribute('aria-invalid')).toBe('true');
      expect(await pageProblems(page)).toEqual([]);
      await page.getByRole('alert').getByRole('link', { name: 'URL' }).click();
      await page.waitForURL(({ hash }) => hash === '#field-url');
      await visitor.close();
    },
  );
});
