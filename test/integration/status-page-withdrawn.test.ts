import { once } from 'node:events';
import { get as httpGet } from 'node:http';
import { writeFetchedIcon } from '@svc/coordinator/store/pages/page-icons.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { addRows } from '../support/store-rows.ts';

/*
 * Content that is withdrawn from a status page is gone when the write is answered. The clock stands still in
 * these tests, so no cached page expires.
 */

const SECRET = 'Plans of the merger';
const ICON = 'https://icons.example/icon.svg';
const DOMAIN = 'status.example.com';
const PAGE = { title: SECRET, slug: 'open', icon: ICON, custom_domain: DOMAIN };
const MONITOR = { type: 'tcp', name: SECRET, uri: '127.0.0.1:9', periodicity: '30s', public: true };
const PRIVATE = { access_type: 'password', password: 'correct horse battery staple' };

let api: RunningApi;
let page: string;
/** Paths below the API. */
let monitor: string;
let component: string;
let incident: string;
let update: string;
let maintenance: string;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api?.dispose());

beforeEach(async () => {
  const list = (await api.call('GET', '/v1/status-pages')).body as { data: { id: string }[] };
  for (const { id } of list.data) await api.call('DELETE', `/v1/status-pages/${id}`);
  const monitorId = await api.create('/v1/monitors', MONITOR);
  monitor = `/v1/monitors/${monitorId}`;
  const pageId = await api.create('/v1/status-pages', PAGE);
  page = `/v1/status-pages/${pageId}`;
  const componentId = await api.create(`${page}/components`, { type: 'monitor', monitor_id: monitorId });
  component = `${page}/components/${componentId}`;
  const told = { page_ids: [pageId], component_ids: [componentId] };
  const written = await api.call('POST', '/v1/incidents', {
    title: SECRET,
    state: 'investigating',
    text: 'We look into it.',
    ...told,
  });
  incident = `/v1/incidents/${(written.body as { id: string }).id}`;
  update = `${incident}/updates/${await api.create(`${incident}/updates`, { state: 'identified', text: SECRET })}`;
  const starts = api.clock.wall() + 3_600_000;
  const [starts_at, ends_at] = [starts, starts + 3_600_000].map((at) => new Date(at).toISOString());
  const window = { title: SECRET, text: SECRET, starts_at, ends_at, ...told };
  maintenance = `/v1/maintenance-windows/${await api.create('/v1/maintenance-windows', window)}`;
  await api.store.transaction((tx) =>
    writeFetchedIcon(
      tx,
      { pageId: Number(pageId), url: ICON, validator: null, problem: null, failures: 0, triedAt: 1 },
      { contentType: 'image/svg+xml', content: Buffer.from(`<svg><title>${SECRET}</title></svg>`) },
    ),
  );
  const checked = { state: 'verified' as const, problem: null, failures: 0, checked_at: 1, verified_at: 1 };
  await addRows(api.store, 'page_domains', {
    page_id: Number(pageId),
    declared: DOMAIN,
    domain: DOMAIN,
    ...checked,
  });
});

type View = { readonly status: number; readonly text: string; readonly caching: string | undefined };

/** All documents of the page that strangers can get: under the service's host, and under the page's own. */
async function views(): Promise<Map<string, View>> {
  const componentId = component.split('/').at(-1);
  const paths = [
    '',
    `/days/${componentId}`,
    '/icon',
    '/feed.atom',
    '/feed.rss',
    '/feed.json',
    '/badge.svg',
    '/subscribe',
    ...['summary', 'status', 'components', 'incidents', 'incidents/unresolved'].map(
      (name) => `/api/v2/${name}.json`,
    ),
    ...['', '/upcoming', '/active'].map((name) => `/api/v2/scheduled-maintenances${name}.json`),
  ];
  const found = new Map<string, View>();
  for (const path of paths) {
    found.set(path, await viewOf(`/status/open${path}`));
    found.set(`${DOMAIN}${path}`, await viewOf(path === '' ? '/' : path, DOMAIN));
  }
  return found;
}

async function viewOf(path: string, host?: string): Promise<View> {
  const request = httpGet(`${api.url}${path}`, { headers: host === undefined ? {} : { host } });
  const [response] = await once(request, 'response');
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  return { status: response.statusCode, text, caching: response.headers['cache-control'] };
}

const telling = (found: ReadonlyMap<string, View>) =>
  [...found].filter(([, { text }]) => text.includes(SECRET)).map(([path]) => path);

describe('a page', () => {
  test.each<[string, () => Promise<{ status: number }>, boolean]>([
    ['gets a password', () => api.call('PUT', page, { ...PAGE, ...PRIVATE }), true],
    [
      'is for the people of a domain',
      () =>
        api.call('PUT', page, { ...PAGE, access_type: 'email-domain', auth_email_domains: ['example.com'] }),
      true,
    ],
    ['is not published any more', () => api.call('PATCH', `${page}/appearance`, { published: false }), true],
    ['is removed', () => api.call('DELETE', page), true],
    ['has another name', () => api.call('PUT', page, { ...PAGE, slug: 'moved', custom_domain: null }), true],
    [
      'gets a password in the declared file',
      async () => {
        await api.configuration.transaction(
          { workspaceId: api.workspaceId, actor: 'file' },
          async (change) => {
            const id = Number(page.split('/').at(-1));
            const stored = await api.reading.findStored(
              'status_pages',
              { workspaceId: api.workspaceId },
              id,
              'open',
            );
            if (stored === null) throw new Error('there is no page');
            const attributes = {
              ...stored.attributes,
              access_type: 'password',
              password: 'long enough',
            } as const;
            await change.update('svc_status_page', id, attributes);
          },
        );
        return { status: 200 };
      },
      true,
    ],
  ])('that %s is gone when the write is answered, in every view', async (_what, write) => {
    // Each view is requested twice: the first time it is rendered, the second time it comes from memory.
    for (const _ of [1, 2]) {
      const open = await views();
      expect([...open].filter(([, { status }]) => status !== 200)).toEqual([]);
      expect(telling(open).length).toBeGreaterThan(20);
    }
    expect((await write()).status).toBeLessThan(300);
    const closed = await views();
    expect(telling(closed)).toEqual([]);
    expect([...closed].filter(([, { status }]) => status === 200)).toEqual([]);
    // No cache may store the refusal.
    expect([...closed].filter(([, { caching }]) => !/no-store/.test(caching ?? ''))).toEqual([]);
  });
});

describe('what a page shows', () => {
  /** Removes the secret from every part except this one. */
  async function onlyIn(part: 'component' | 'incident' | 'update' | 'maintenance' | 'icon' | 'description') {
    const description = part === 'description' ? SECRET : null;
    await api.call('PUT', page, {
      ...PAGE,
      title: 'Example',
      icon: part === 'icon' ? ICON : null,
      description,
    });
    if (part !== 'component') await api.call('DELETE', component);
    if (part !== 'maintenance') await api.call('DELETE', maintenance);
    if (part === 'incident') await api.call('DELETE', update);
    if (part === 'update')
      await api.call('PUT', incident, { title: 'Power cut', page_ids: [page.split('/').at(-1)] });
    if (part !== 'incident' && part !== 'update') await api.call('DELETE', incident);
  }

  test.each<[string, Parameters<typeof onlyIn>[0], () => Promise<{ status: number }>]>([
    ['a component that is removed', 'component', () => api.call('DELETE', component)],
    [
      'a component whose monitor is not public any more',
      'component',
      () => api.call('PUT', monitor, { ...MONITOR, public: false }),
    ],
    [
      'a component whose monitor is removed',
      'component',
      () => api.call('DELETE', `${monitor}?components=keep`),
    ],
    ['the name of a monitor', 'component', () => api.call('PUT', monitor, { ...MONITOR, name: 'Other' })],
    ['an incident that is removed', 'incident', () => api.call('DELETE', incident)],
    ['an update that is removed', 'update', () => api.call('DELETE', update)],
    ['a text of an update', 'update', () => api.call('PUT', update, { state: 'identified', text: 'Other' })],
    ['a window that is removed', 'maintenance', () => api.call('DELETE', maintenance)],
    ['an icon', 'icon', () => api.call('PUT', page, { ...PAGE, title: 'Example', icon: null })],
    ['a description', 'description', () => api.call('PUT', page, { ...PAGE, title: 'Example', icon: null })],
  ])('%s is gone when the write is answered', async (_what, part, write) => {
    await onlyIn(part);
    for (const _ of [1, 2]) expect(telling(await views())).not.toEqual([]);
    const { status } = await write();
    expect(status).toBeLessThan(300);
    expect(telling(await views())).toEqual([]);
  });
});
