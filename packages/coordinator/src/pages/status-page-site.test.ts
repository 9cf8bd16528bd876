import { once } from 'node:events';
import { get as httpGet } from 'node:http';
import type { Resources } from '@svc/shared/resources/registry.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { DeclaredPage } from '../../../../test/support/declared-page.ts';
import { createApiCounters } from '../api/api-parts.ts';
import { writeFetchedIcon } from '../store/pages/page-icons.ts';

const DOCUMENTS = [
  ['', 'text/html; charset=utf-8'],
  ['/feed.atom', 'application/atom+xml; charset=utf-8'],
  ['/feed.rss', 'application/rss+xml; charset=utf-8'],
  ['/feed.json', 'application/feed+json; charset=utf-8'],
  ['/badge.svg', 'image/svg+xml; charset=utf-8'],
  ['/api/v2/summary.json', 'application/json; charset=utf-8'],
  ['/api/v2/status.json', 'application/json; charset=utf-8'],
  ['/api/v2/components.json', 'application/json; charset=utf-8'],
  ['/api/v2/incidents.json', 'application/json; charset=utf-8'],
  ['/api/v2/incidents/unresolved.json', 'application/json; charset=utf-8'],
  ['/api/v2/scheduled-maintenances.json', 'application/json; charset=utf-8'],
  ['/api/v2/scheduled-maintenances/upcoming.json', 'application/json; charset=utf-8'],
  ['/api/v2/scheduled-maintenances/active.json', 'application/json; charset=utf-8'],
] as const;

const counters = createApiCounters();
let api: RunningApi;
let page: DeclaredPage;

beforeAll(async () => {
  api = await startApi({ counters });
  page = await DeclaredPage.declare(api, { monitors: ['API'] });
  await page.addMonitor('Hidden service', { isPublic: false });
  await page.setStatus('API', 'active');
  api.clock.advance(3_600_000);
  await page.setStatus('API', 'error');
  api.clock.advance(60_000);
  await DeclaredPage.declare(api, {
    monitors: ['Secret'],
    page: { slug: 'private', title: 'Private page', access_type: 'password', password: 'open sesame' },
  });
});
afterAll(() => api?.dispose());

const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${api.url}${path}`, { method, headers, redirect: 'manual' });

describe('a public page', () => {
  test.each(DOCUMENTS)('serves %s', async (path, type) => {
    const answer = await get(`/status/example${path}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe(type);
    expect(answer.headers.get('cache-control')).toMatch(
      /^public, max-age=(15|60), stale-while-revalidate=60, stale-if-error=3600$/,
    );
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(answer.headers.get('access-control-allow-origin')).toBe(path === '' ? null : '*');
    const text = await answer.text();
    expect(text).not.toContain('Hidden service');
    // A client that sends the tag gets no body.
    const tag = answer.headers.get('etag') ?? '';
    const again = await get(`/status/example${path}`, { 'if-none-match': `"other", ${tag}` });
    expect([again.status, await again.text()]).toEqual([304, '']);
    expect(again.headers.get('etag')).toBe(tag);
    const head = await get(`/status/example${path}`, {}, 'HEAD');
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  test('is compressed once, for clients that accept it', async () => {
    const compressed = await fetch(`${api.url}/status/example`, { headers: { 'accept-encoding': 'gzip' } });
    expect(compressed.headers.get('content-encoding')).toBe('gzip');
    expect(compressed.headers.get('vary')).toBe('accept-encoding, accept-language');
    const plain = await fetch(`${api.url}/status/example`, { headers: { 'accept-encoding': 'gzip;q=0' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(await compressed.text()).toBe(await plain.text());
    expect(compressed.headers.get('etag')).toBe(plain.headers.get('etag'));
  });

  test('shows the state, the incident and the days', async () => {
    const text = await (await get('/status/example')).text();
    expect(text).toContain('<h2 id="overall">Major outage</h2>');
    expect(text).toContain('API down');
    const [, days] = /href="(\/status\/example\/days\/\d+)"/.exec(text) ?? [];
    const table = await (await get(days ?? '')).text();
    expect(table.match(/<tr>/g)).toHaveLength(91);
    expect(table).toContain('98.36%');
  });

  test("uses the language in the address, or the browser's", async () => {
    const german = await get('/status/example', { 'accept-language': 'de-AT,en;q=0.5' });
    expect(await german.text()).toContain('Ausfall aller Systeme');
    expect(await (await get('/status/example?lang=de')).text()).toContain('<html lang="de"');
    const json = await get('/status/example/api/v2/status.json', { 'accept-language': 'de' });
    expect(await json.json()).toMatchObject({
      status: { indicator: 'critical', description: 'Major outage' },
    });
  });

  test('has one address, to which a final slash redirects', async () => {
    const moved = await get('/status/example/');
    expect([moved.status, moved.headers.get('location')]).toEqual([308, 'http://svc.example/status/example']);
  });

  test.each([
    '/status/example/unknown',
    '/status/example/days/999999',
    '/status/example/days/0',
    '/status/example/days/1e3',
    '/status/example//feed.atom',
    '/status/example/api/v2/summary.json/',
    '/status/unknown',
    '/status/unknown/feed.atom',
    '/status/EXAMPLE',
  ])('%s is not found', async (path) => {
    expect((await get(path)).status).toBe(404);
  });

  test('takes no other method', async () => {
    const answer = await get('/status/example', {}, 'POST');
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

describe('a cached page', () => {
  test("is counted, and has the client's request id", async () => {
    await get('/status/example');
    const before = counters.answers[200];
    const answer = await get('/status/example', { 'x-request-id': 'from-a-proxy' });
    expect(answer.headers.get('x-request-id')).toBe('from-a-proxy');
    expect(counters.answers[200]).toBe(before + 1);
  });

  test('is not sent after the page became private, or under a foreign host', async () => {
    const declared = await DeclaredPage.declare(api, { monitors: [], page: { slug: 'soon-private' } });
    for (const _ of [1, 2]) expect((await get('/status/soon-private')).status).toBe(200);
    await declared.protect('soon-private');
    for (const _ of [1, 2]) expect((await get('/status/soon-private')).status).toBe(303);
    await get('/status/example');
    const request = httpGet(`${api.url}/status/example`, { headers: { host: 'other.example' } });
    const [foreign] = await once(request, 'response');
    foreign.resume();
    expect(foreign.statusCode).toBe(404);
  });
});

describe('a page that is not public', () => {
  test.each(DOCUMENTS)('shows nothing of itself to strangers: %s', async (path) => {
    const hidden = await get(`/status/private${path}`);
    expect(hidden.status).toBe(path === '' ? 303 : 401);
    expect(hidden.headers.get('cache-control')).toBe('private, no-store');
    expect(await hidden.text()).toBe(path === '' ? '' : 'This status page is private.\n');
  });
});

describe('the icon of a page', () => {
  const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
  const URL_OF_ICON = 'https://example.com/icon.svg';

  async function withIcon(slug: string, more: Partial<Resources['svc_status_page']> = {}) {
    const page = { slug, icon: URL_OF_ICON, ...more };
    const { id } = await DeclaredPage.declare(api, { monitors: [], page });
    expect(await (await get(`/status/${slug}`)).text()).not.toContain('<img');
    await fetchIcon(id, 1);
    return id;
  }

  async function fetchIcon(pageId: number, triedAt: number) {
    const fetched = { pageId, url: URL_OF_ICON, validator: null, problem: null, failures: 0, triedAt };
    const image = { contentType: 'image/svg+xml', content: Buffer.from(SVG) };
    await api.store.transaction((tx) => writeFetchedIcon(tx, fetched, image));
    api.clock.advance(1_000);
  }

  test('is served below the page, in a sandbox, with its validator', async () => {
    await withIcon('iconic');
    const page = await get('/status/iconic');
    expect(await page.text()).toContain('<img src="/status/iconic/icon?v=1"');
    expect(page.headers.get('content-security-policy')).toContain("img-src 'self' data:;");
    const icon = await get('/status/iconic/icon?v=1');
    expect(await icon.text()).toBe(SVG);
    expect(Object.fromEntries(icon.headers)).toMatchObject({
      'content-type': 'image/svg+xml',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': 'public, max-age=3600',
    });
    const again = await get('/status/iconic/icon', { 'if-none-match': icon.headers.get('etag') ?? '' });
    expect(again.status).toBe(304);
    expect((await get('/status/example/icon')).status).toBe(404);
  });

  test('has another address when it was fetched anew, because browsers keep it for an hour', async () => {
    const id = await withIcon('new-icon');
    await fetchIcon(id, 2);
    expect(await (await get('/status/new-icon')).text()).toContain('<img src="/status/new-icon/icon?v=2"');
  });

  test('needs the same access as its page', async () => {
    await withIcon('iconic-private', { access_type: 'password', password: 'open sesame' });
    expect((await get('/status/iconic-private/icon')).status).toBe(303);
    const authorization = `Basic ${btoa(':open sesame')}`;
    const icon = await get('/status/iconic-private/icon', { authorization });
    expect([icon.status, icon.headers.get('cache-control')]).toEqual([200, 'private, no-store']);
  });
});

test('an unpublished page is not found', async () => {
  const other = await DeclaredPage.declare(api, { monitors: [], page: { slug: 'draft' } });
  expect((await get('/status/draft')).status).toBe(200);
  await other.unpublish();
  expect((await get('/status/draft')).status).toBe(404);
});

test('texts of owners are escaped, and links have allowed schemes only', async () => {
  const evil = `"><script>alert(1)</script><img src=x onerror=alert(1)>&amp;'`;
  const declared = await DeclaredPage.declare(api, {
    monitors: [evil],
    page: {
      slug: 'evil',
      title: evil,
      description: evil,
      homepage_url: 'https://example.com/"onclick="alert(1)',
      icon: 'http://example.com/icon.png',
    },
  });
  await declared.addStatic(evil);
  await declared.setStatus(evil, 'active');
  await declared.setStatus(evil, 'error');
  for (const path of ['', '/feed.atom', '/feed.rss', '/badge.svg']) {
    const answer = await get(`/status/evil${path}`);
    const text = await answer.text();
    expect(answer.status).toBe(200);
    expect(text).not.toMatch(/<script>|<img src=x|onclick="/);
    // The page does not load an icon that has no TLS.
    expect(text).not.toContain('http://example.com/icon.png');
  }
});
