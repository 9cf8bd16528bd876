import { DAY_MS, HOUR_MS } from '@svc/coordinator/verdict/summary-range.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addSampleCompany } from '../screenshots/sample-company.ts';
import { type RunningApi, startApi } from '../support/api.ts';
import { holdScripts } from '../support/browser/held-scripts.ts';
import { pageProblems } from '../support/browser/page-problems.ts';
import { nameOf, skipsBrowser, TestBrowser, VIEWS } from '../support/browser.ts';
import { dashboardPaths } from '../support/dashboard/every-path.ts';
import { openDashboard } from '../support/dashboard.ts';

/** More states of pages. The forms of each kind have their own tests. */
const MORE = [
  '/?name=zzz',
  '/status/example-shop/days/1',
  '/status/example-shop/subscribe',
  '/status/private',
];
/** An address that leads nowhere. */
const NOTHING = '/nothing';

describe.skipIf(skipsBrowser)('every page', () => {
  let api: RunningApi;
  let browser: TestBrowser;
  let paths: readonly string[];
  beforeAll(async () => {
    api = await startApi();
    api.clock.advance(200 * DAY_MS + 13.75 * HOUR_MS);
    const { statusPath } = await addSampleCompany(api);
    const page = { title: 'Private', slug: 'private', access_type: 'password', password: 'correct horse' };
    expect((await api.call('POST', '/v1/status-pages', page)).status).toBe(201);
    paths = [...dashboardPaths(api), statusPath, ...MORE, NOTHING];
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.dispose();
  });

  test.each(VIEWS.map((view) => [nameOf(view), view] as const))('is whole %s', async (_, view) => {
    const visitor = await browser.visitor(view);
    const page = await openDashboard(api, visitor);
    // Scripts run after the content that they could move, as over a slow connection.
    if (view.hasScript) await holdScripts(page);
    const found: Record<string, unknown> = {};
    for (const path of paths) {
      const response = await page.goto(`${api.url}${path}`);
      const status = response?.status();
      const headings = await page.locator('h1').count();
      const problems = await pageProblems(page);
      if (status === (path === NOTHING ? 404 : 200) && headings === 1 && problems.length === 0) continue;
      found[path] = { status, headings, problems };
    }
    expect(found).toEqual({});
    await visitor.close();
  });
});
