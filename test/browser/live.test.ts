/** Open pages of the dashboard stay up to date. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { type ApiProxy, startApiProxy, type Treatment } from '../support/api-proxy.ts';
import { type BrowserVisitor, skipsBrowser, TestBrowser } from '../support/browser.ts';
import { openDashboard } from '../support/dashboard.ts';

const MINUTE_MS = 60_000;

describe.skipIf(skipsBrowser)('an open page of the dashboard', () => {
  let api: RunningApi;
  let proxy: ApiProxy;
  let browser: TestBrowser;
  let visitor: BrowserVisitor;
  let monitorId: number;
  beforeAll(async () => {
    api = await startApi();
    proxy = await startApiProxy(api.url);
    const body = {
      type: 'tcp',
      name: 'API',
      uri: 'example.com:443',
      periodicity: '1m',
      active: true,
      public: false,
    };
    const created = await api.call('POST', '/v1/monitors', body);
    monitorId = Number((created.body as { id: string }).id);
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    await proxy?.close();
    await api?.dispose();
  });
  beforeEach(async () => {
    await setStatus('active');
    visitor = await browser.visitor();
  });
  afterEach(async () => {
    treatEvents(() => 'pass');
    await visitor.close();
  });

  /**
   * Changes the status without a transition and without a line of the audit trail, so no event reports it.
   */
  const setStatus = (status: string) =>
    api.store.transaction((tx) =>
      tx.runEach(
        `INSERT INTO monitor_states (monitor_id, status, since) VALUES (?, ?, ?)
         ON CONFLICT (monitor_id) DO UPDATE SET status = excluded.status`,
        [[monitorId, status, api.clock.wall()]],
      ),
    );

  function treatEvents(treatment: () => Treatment): void {
    proxy.treat(({ path }) => (path === '/events' ? treatment() : 'pass'));
  }

  /** Holds back all streams until the returned function is called. */
  function holdEvents(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    treatEvents(() => ({ hold: promise }));
    return resolve;
  }

  async function openOverview(): Promise<Page> {
    const page = await openDashboard({ url: proxy.url, operator: api.operator }, visitor);
    await page.getByRole('link', { name: 'Up 1' }).waitFor();
    return page;
  }

  const isShownAsDown = (page: Page) => page.getByRole('link', { name: 'Down 1' }).waitFor();

  test('shows a change between two streams', async () => {
    const listening = visitor.context.waitForEvent('response', (response) =>
      response.url().endsWith('/events'),
    );
    const page = await openOverview();
    await listening;
    // The stream ends, and the browser opens the next one after three seconds. The change happens before
    // that.
    const release = holdEvents();
    api.clock.advance(10 * MINUTE_MS);
    await setStatus('error');
    release();
    await isShownAsDown(page);
  });

  test('shows a change from before it listened', async () => {
    const release = holdEvents();
    const page = await openOverview();
    await setStatus('error');
    release();
    await isShownAsDown(page);
  });

  test('listens again after a proxy answered that the service is away', async () => {
    treatEvents(() => ({ status: 502, body: 'Bad Gateway' }));
    await visitor.context.clock.install();
    const refused = visitor.context.waitForEvent('response', (response) => response.status() === 502);
    const page = await openOverview();
    await refused;
    treatEvents(() => 'pass');
    await setStatus('error');
    const listening = page.waitForResponse((response) => response.url().endsWith('/events'));
    await visitor.context.clock.fastForward(15_000);
    expect((await listening).status()).toBe(200);
    await isShownAsDown(page);
  });
});
