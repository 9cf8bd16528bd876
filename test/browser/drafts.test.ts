import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { pageProblems } from '../support/browser/page-problems.ts';
import { skipsBrowser, TestBrowser, type View } from '../support/browser.ts';
import { inputOf, save } from '../support/dashboard/fill-form.ts';
import { openDashboard } from '../support/dashboard.ts';
import { MONITOR_DEFAULTS } from '../support/resources.ts';
import { WHOLE_CONFIGURATION } from '../support/whole-configuration.ts';

const PLAIN: View = { width: 768, theme: 'light', hasScript: false };
const SECRET = 's3cret';

let api: RunningApi;
let browser: TestBrowser;
/** The page of a logged-in visitor. */
let page: Page;

const stored = async (path: string) => (await api.call('GET', path)).body as Record<string, unknown>;

const MONITOR = { type: 'http', name: 'Shop', url: 'https://shop.example/', periodicity: '1m' };
const header = (key: string, value: string) => ({ key, value });

async function opened(path: string): Promise<void> {
  await page.goto(`${api.url}${path}`);
}

describe.skipIf(skipsBrowser)('drafts', () => {
  beforeAll(async () => {
    api = await startApi();
    browser = await TestBrowser.launch();
    page = await openDashboard(api, await browser.visitor(PLAIN));
  });
  afterAll(async () => {
    await browser?.close();
    await api?.dispose();
  });

  test.each(Object.entries(WHOLE_CONFIGURATION.svc_http_monitor ?? {}))(
    'the form of the monitor "%s" keeps an unedited monitor unchanged',
    async (_name, monitor) => {
      const id = await api.create('/v1/monitors', { ...monitor, type: 'http' });
      const before = await api.call('GET', `/v1/monitors/${id}`);
      await opened(`/monitors/${id}/edit`);
      await save(page);
      await page.getByRole('status').getByText('was saved').waitFor();
      const after = await api.call('GET', `/v1/monitors/${id}`);
      expect(after.body).toEqual(before.body);
      expect(after.headers.get('etag')).toBe(before.headers.get('etag'));
    },
  );

  test('contain no stored secret, and keep it even if rows above were removed', async () => {
    const headers = [
      header('X-A', `${SECRET}-a`),
      header('X-Same', `${SECRET}-b`),
      header('X-Same', `${SECRET}-c`),
    ];
    const body = { ...MONITOR, url: `https://u:${SECRET}@shop.example/?k=${SECRET}`, body: SECRET, headers };
    const id = await api.create('/v1/monitors', body);
    await opened(`/monitors/${id}/edit`);
    expect(await page.content()).not.toContain(SECRET);
    await page.getByRole('button', { name: 'Remove header 1' }).click();
    await page.getByRole('button', { name: 'Remove header 1' }).click();
    expect(await page.content()).not.toContain(SECRET);
    await save(page);
    await page.getByRole('status').getByText('was saved').waitFor();
    expect(await stored(`/v1/monitors/${id}`)).toMatchObject({
      url: body.url,
      body: SECRET,
      headers: [header('X-Same', `${SECRET}-c`)],
    });
  });

  test('show stored secrets on demand, and keep what was typed before', async () => {
    const id = await api.create('/v1/monitors', { ...MONITOR, headers: [header('X-A', SECRET)] });
    await opened(`/monitors/${id}/edit`);
    await inputOf(page, 'name').fill('Typed');
    await page.getByRole('button', { name: 'Show stored secrets' }).click();
    expect(await inputOf(page, 'headers.0.value').inputValue()).toBe(SECRET);
    expect(await inputOf(page, 'name').inputValue()).toBe('Typed');
    expect(await pageProblems(page)).toEqual([]);
    await inputOf(page, 'headers.0.value').fill(`${SECRET}-new`);
    await save(page);
    await page.getByRole('status').getByText('was saved').waitFor();
    expect(await stored(`/v1/monitors/${id}`)).toMatchObject({
      name: 'Typed',
      headers: [header('X-A', `${SECRET}-new`)],
    });
  });

  test('remove a secret that need not be there', async () => {
    const push = { provider_type: 'push_a', push_a: { topic: 'alerts', token: SECRET } };
    const id = await api.create('/v1/notifications', push);
    await opened(`/channels/${id}/edit`);
    await page.getByRole('checkbox', { name: 'Remove the stored token' }).check();
    await save(page);
    await page.getByRole('status').getByText('was saved').waitFor();
    expect(await stored(`/v1/notifications/${id}`)).toMatchObject({
      push_a: { topic: 'alerts', token: null },
    });
  });

  test('overwrite what somebody else saved only if their author wants it', async () => {
    const id = await api.create('/v1/monitors', MONITOR);
    const path = `/v1/monitors/${id}`;
    await opened(`/monitors/${id}/edit`);
    await inputOf(page, 'name').fill('Mine');
    await api.call('PUT', path, { ...MONITOR, name: 'Theirs', retry: 7 });
    await save(page);
    await page.getByRole('alert').getByText('Somebody else changed this monitor').waitFor();
    expect(await page.getByRole('row', { name: /Name\s+Theirs\s+Mine/ }).count()).toBe(1);
    expect(await inputOf(page, 'name').inputValue()).toBe('Mine');
    expect(await pageProblems(page)).toEqual([]);
    expect(await stored(path)).toMatchObject({ name: 'Theirs', retry: 7 });
    await save(page);
    await page.getByRole('status').getByText('was saved').waitFor();
    expect(await stored(path)).toMatchObject({ name: 'Mine', retry: 3 });
  });

  test('survive the removal of their object, and create a new one', async () => {
    const id = await api.create('/v1/monitors', MONITOR);
    await opened(`/monitors/${id}/edit`);
    await inputOf(page, 'name').fill('Survivor');
    await api.call('DELETE', `/v1/monitors/${id}`);
    await save(page);
    await page.getByRole('alert').getByText('was removed by somebody else').waitFor();
    await save(page);
    await page.getByRole('status').getByText('was created').waitFor();
    const { data } = (await stored('/v1/monitors?name=Survivor')) as { data: { url: string }[] };
    expect(data).toMatchObject([{ url: MONITOR.url }]);
  });

  test('do not exist for objects that a file declares', async () => {
    const declare = { workspaceId: api.workspaceId, actor: 'file' } as const;
    const id = await api.configuration.transaction(declare, (change) =>
      change.create(
        'svc_tcp_monitor',
        {
          type: 'tcp',
          name: 'Declared',
          uri: 'a.example:1',
          periodicity: '1m',
          ...MONITOR_DEFAULTS,
          otlp_headers: { Authorization: SECRET },
        },
        { localName: 'shop' },
      ),
    );
    for (const path of [`/monitors/${id}/edit`, `/monitors/${id}/delete`]) {
      await opened(path);
      await page.getByText('This monitor is declared in').waitFor();
      expect(await page.getByText('svc_tcp_monitor.shop').count()).toBe(1);
      expect(await page.locator('main form').count()).toBe(0);
      expect(await page.content()).not.toContain(SECRET);
      expect(await pageProblems(page)).toEqual([]);
    }
  });

  test('escape texts of others', async () => {
    const name = '<img src=x onerror=alert(1)>"\'&amp;';
    const id = await api.create('/v1/notifications', {
      name,
      provider_type: 'webhook',
      webhook: { endpoint: 'https://hook.example/', headers: [header('X-A', name)] },
    });
    for (const path of [`/channels/${id}`, `/channels/${id}/edit`, `/channels/${id}/delete`, '/channels']) {
      await opened(path);
      expect(await page.locator('img').count()).toBe(0);
      expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1);
    }
    await opened(`/channels/${id}/edit`);
    expect(await inputOf(page, 'name').inputValue()).toBe(name);
  });
});
