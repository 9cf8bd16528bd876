import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { pageProblems } from '../support/browser/page-problems.ts';
import { nameOf, skipsBrowser, TestBrowser, VIEWS } from '../support/browser.ts';
import { openDashboard } from '../support/dashboard.ts';

describe.skipIf(skipsBrowser)('the login', () => {
  let api: RunningApi;
  let browser: TestBrowser;
  beforeAll(async () => {
    api = await startApi();
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.dispose();
  });

  test.each(VIEWS.map((view) => [nameOf(view), view] as const))('works %s', async (_, view) => {
    const visitor = await browser.visitor(view);
    const page = await visitor.newPage();
    await page.goto(`${api.url}/`);
    expect(new URL(page.url()).pathname).toBe('/login');
    expect(await pageProblems(page)).toEqual([]);

    await page.getByLabel('API token').fill('wrong');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').getByText('This token is not valid').waitFor();
    expect(await pageProblems(page)).toEqual([]);

    await page.getByLabel('API token').fill(api.operator);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor();
    expect(await pageProblems(page)).toEqual([]);

    await page.getByRole('button', { name: 'Log out' }).click();
    await page.waitForURL(`${api.url}/login`);
    await page.goto(`${api.url}/`);
    expect(new URL(page.url()).pathname).toBe('/login');
    await visitor.close();
  });

  test('a link logs in once, by its button, and the session leads to the wanted page', async () => {
    const { body } = await api.call('POST', '/v1/login-links');
    const url = new URL((body as { url: string }).url);
    const link = `${api.url}${url.pathname}${url.search}`;
    const visitor = await browser.visitor();
    const page = await visitor.newPage();
    // A mail scanner that opens the link does not use it up.
    await page.goto(link);
    await page.goto(link);
    expect(await pageProblems(page)).toEqual([]);
    await page.getByRole('button', { name: 'Log in to the dashboard' }).click();
    await page.getByRole('heading', { name: 'Monitors', level: 1 }).waitFor();
    await visitor.close();

    const second = await browser.visitor();
    const late = await second.newPage();
    await late.goto(link);
    await late.getByRole('button', { name: 'Log in to the dashboard' }).click();
    await late.getByRole('alert').getByText('was already used').waitFor();
    await second.close();
  });

  test('a session ends with its token', async () => {
    const { body } = await api.call('POST', '/v1/tokens', { name: 'short', scope: 'read' });
    const { id, token } = body as { id: string; token: string };
    const visitor = await browser.visitor();
    const page = await openDashboard({ ...api, operator: token }, visitor);
    await api.call('DELETE', `/v1/tokens/${id}`);
    await page.reload();
    expect(new URL(page.url()).pathname).toBe('/login');
    await visitor.close();
  });
});
