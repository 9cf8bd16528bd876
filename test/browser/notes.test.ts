import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { pageProblems } from '../support/browser/page-problems.ts';
import { nameOf, skipsBrowser, TestBrowser, VIEWS } from '../support/browser.ts';
import { openDashboard } from '../support/dashboard.ts';

let api: RunningApi;
let browser: TestBrowser;
let pageId: string;
let monitorId: string;

describe.skipIf(skipsBrowser)('incidents and maintenance in the dashboard', () => {
  beforeAll(async () => {
    api = await startApi();
    browser = await TestBrowser.launch();
    const monitor = {
      type: 'tcp',
      name: 'Mail <b>',
      uri: 'mail.example:25',
      periodicity: '1m',
      public: true,
    };
    monitorId = await api.create('/v1/monitors', monitor);
    pageId = await api.create('/v1/status-pages', { title: 'Status <b>', slug: 'status' });
    await api.create(`/v1/status-pages/${pageId}/components`, { type: 'monitor', monitor_id: monitorId });
  });
  afterAll(async () => {
    await browser?.close();
    await api?.dispose();
  });

  test.each(VIEWS.map((view) => [nameOf(view), view] as const))('work %s', async (_name, view) => {
    const visitor = await browser.visitor(view);
    const page = await openDashboard(api, visitor, '/maintenance');
    expect(await pageProblems(page)).toEqual([]);

    await page.goto(`${api.url}/maintenance/new`);
    expect(await pageProblems(page)).toEqual([]);
    await page.getByLabel('Title').fill('Update <i>');
    await page.getByLabel('Begins').fill('2026-03-25T02:00');
    await page.getByLabel('Ends').fill('2026-03-25T01:00');
    await page.getByLabel('Mail <b> tcp').check();
    await page.getByRole('button', { name: 'Schedule' }).last().click();
    await page.getByRole('alert').getByText('must be after starts_at').waitFor();
    expect(await pageProblems(page)).toEqual([]);
    expect(await page.getByLabel('Title').inputValue()).toBe('Update <i>');
    expect(await page.getByLabel('Mail <b> tcp').isChecked()).toBe(true);
    await page.getByLabel('Ends').fill('2026-03-25T04:00');
    await page.getByLabel('How often').selectOption('weekly');
    await page.getByLabel('Wednesday').check();
    await page.getByRole('button', { name: 'Schedule' }).last().click();
    await page.getByText('The maintenance window was created.').waitFor();
    await page.getByText('every week on Wednesday').waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await page.getByRole('link', { name: 'Edit' }).click();
    await page.getByLabel('Title').fill('Update <u>');
    await page.getByRole('button', { name: 'Save' }).last().click();
    await page.getByRole('heading', { name: 'Update <u>' }).waitFor();
    await page.getByRole('button', { name: 'End now: Update' }).click();
    await page.getByText('The window has ended.').waitFor();
    await page.getByRole('button', { name: 'Remove: Update' }).click();
    await page.getByText('The window was removed').waitFor();

    await page.goto(`${api.url}/incidents/new`);
    await page.getByLabel('Title').fill('Mails wait <i>');
    await page.getByLabel('What visitors are told').fill('We look into it. <script>1</script>');
    await page.getByRole('button', { name: 'Publish' }).last().click();
    await page.getByRole('alert').getByText('must have at least one page').waitFor();
    await page.getByLabel('Status <b>', { exact: true }).check();
    await page.getByRole('button', { name: 'Publish' }).last().click();
    await page.getByText('The incident was created.').waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await page.getByLabel('State', { exact: true }).selectOption('resolved');
    await page.getByLabel('What visitors are told').fill('It work.');
    await page.getByRole('button', { name: 'Publish' }).last().click();
    await page.getByText('The update was created.').waitFor();
    await page.getByText('We look into it. <script>1</script>').waitFor();
    await page.getByRole('link', { name: 'Edit this update' }).first().click();
    expect(await pageProblems(page)).toEqual([]);
    await page.getByLabel('What visitors are told').fill('It works.');
    await page.getByRole('button', { name: 'Save' }).last().click();
    await page.getByText('It works.').waitFor();
    await page.goto(`${api.url}/incidents`);
    await page.getByRole('link', { name: 'Mails wait <i>' }).first().click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('The incident is removed.').waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await visitor.close();
  });
});
