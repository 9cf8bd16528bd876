import type { DeclaredFileState } from '@svc/coordinator/api/api-parts.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { pageProblems } from '../support/browser/page-problems.ts';
import { nameOf, skipsBrowser, TestBrowser, VIEWS } from '../support/browser.ts';
import { openDashboard } from '../support/dashboard.ts';

let api: RunningApi;
let browser: TestBrowser;
let declared: Omit<DeclaredFileState, 'workspaceId'> | null = null;

describe.skipIf(skipsBrowser)('the editor of a status page', () => {
  beforeAll(async () => {
    api = await startApi({
      declaration: () => (declared === null ? null : { ...declared, workspaceId: api.workspaceId }),
    });
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.dispose();
  });

  test.each(VIEWS.map((view) => [nameOf(view), view] as const))(
    'has appearance, order and removal of its components %s',
    async (_name, view) => {
      const id = await api.create('/v1/status-pages', { title: 'Example', slug: `example-${view.width}` });
      const path = `/v1/status-pages/${id}`;
      const group = await api.create(`${path}/component-groups`, { name: 'Web' });
      for (const [text, of] of [
        ['Shop', group],
        ['Blog', group],
        ['Support', null],
      ]) {
        await api.create(`${path}/components`, { type: 'static', name: text, group_id: of });
      }
      const visitor = await browser.visitor(view);
      const page = await openDashboard(api, visitor, `/pages/${id}`);
      const order = () => page.locator('.arrangement a:not(.button)').allInnerTexts();
      expect(await order()).toEqual(['Web', 'Shop', 'Blog', 'Support']);
      await page.getByRole('button', { name: 'Move Support up' }).click();
      await page
        .locator('.arrangement > li')
        .first()
        .getByRole('link', { name: 'Support', exact: true })
        .waitFor();
      await page.getByRole('button', { name: 'Move Blog up' }).click();
      await page.getByRole('button', { name: 'Move Blog up', disabled: true }).waitFor();
      expect(await order()).toEqual(['Support', 'Web', 'Blog', 'Shop']);

      await page.getByRole('checkbox', { name: 'Publish the page' }).uncheck();
      await page.getByRole('radio', { name: 'Dark' }).check();
      await page.getByRole('radio', { name: 'Of the last 7 days' }).check();
      await page.getByRole('button', { name: 'Save the appearance' }).click();
      await page.getByRole('status').getByText('The appearance was saved.').waitFor();
      expect((await api.call('GET', path)).body).toMatchObject({
        published: false,
        theme: 'dark',
        latency: '7d',
      });
      expect(await page.getByRole('radio', { name: 'Of the last 7 days' }).isChecked()).toBe(true);
      expect(await pageProblems(page)).toEqual([]);

      // The preview also works while the page is not published.
      await page.getByRole('link', { name: 'Preview' }).click();
      await page.getByRole('heading', { name: 'Example', level: 1 }).waitFor();
      await page.getByText('Support').first().waitFor();
      await page.goto(`${api.url}/pages/${id}`);

      await page.getByRole('link', { name: 'Remove Web' }).click();
      await page.getByText('2 components of it stay on the page').waitFor();
      expect(await pageProblems(page)).toEqual([]);
      await page.getByRole('button', { name: 'Remove the group' }).click();
      await page.getByRole('status').getByText('The group was removed.').waitFor();
      expect(await order()).toEqual(['Support', 'Blog', 'Shop']);
      await visitor.close();
    },
  );

  test('does not overwrite an appearance that somebody else changed', async () => {
    const id = await api.create('/v1/status-pages', { title: 'Contested', slug: 'contested' });
    const visitor = await browser.visitor();
    const page = await openDashboard(api, visitor, `/pages/${id}`);
    await api.call('PATCH', `/v1/status-pages/${id}/appearance`, { theme: 'light' });
    await page.getByRole('radio', { name: 'Dark' }).check();
    await page.getByRole('button', { name: 'Save the appearance' }).click();
    await page.getByRole('status').getByText('Somebody else changed this page').waitFor();
    expect((await api.call('GET', `/v1/status-pages/${id}`)).body).toMatchObject({ theme: 'light' });
    await visitor.close();
  });

  test('the removal of a monitor keeps or removes its components, as chosen', async () => {
    const page = await api.create('/v1/status-pages', { title: 'Shown', slug: 'shown' });
    const visitor = await browser.visitor({ width: 320, theme: 'dark', hasScript: false });
    const tab = await openDashboard(api, visitor);
    for (const [choice, left] of [
      ['Keep them', 1],
      ['Remove them too', 1],
    ] as const) {
      const monitor = { type: 'tcp', name: 'Shop', uri: 'a.example:1', periodicity: '1m' };
      const id = await api.create('/v1/monitors', monitor);
      await api.create(`/v1/status-pages/${page}/components`, { type: 'monitor', monitor_id: id });
      await tab.goto(`${api.url}/monitors/${id}/delete`);
      expect(await pageProblems(tab)).toEqual([]);
      await tab.getByRole('radio', { name: choice }).check();
      await tab.getByRole('button', { name: 'Remove the monitor' }).click();
      await tab.getByRole('status').getByText('The monitor was removed.').waitFor();
      const { body } = await api.call('GET', `/v1/status-pages/${page}/components`);
      expect(body).toMatchObject({ total: left });
    }
    await visitor.close();
  });
});

describe.skipIf(skipsBrowser)('the page of the declared file', () => {
  const place = { file: 'svc.yaml', line: 7, column: 18, message: 'periodicity: "2m" is not one of 30s, 1m' };
  const applied = {
    appliedAt: 1_767_225_600_000,
    digest: 'ab',
    resources: 2,
    errors: [],
    warnings: [],
    waiting: null,
  };
  const states = [
    ['Not read yet', null],
    ['Applied', { ...applied, warnings: [place] }],
    ['Refused', { ...applied, errors: [place] }],
    ['Waiting', { ...applied, waiting: { reason: 'the disk is full', tries: 2, nextAt: 1_767_225_600_000 } }],
  ] as const;

  beforeAll(async () => {
    api = await startApi({
      declaration: () => (declared === null ? null : { ...declared, workspaceId: api.workspaceId }),
    });
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.dispose();
  });

  test.each(states)('says that it is: %s', async (word, state) => {
    declared = state;
    const visitor = await browser.visitor({ width: 320, theme: 'dark', hasScript: true });
    const page = await openDashboard(api, visitor, '/declaration');
    await page.locator('.state', { hasText: word }).waitFor();
    if (word === 'Refused') await page.getByRole('cell', { name: 'svc.yaml:7:18' }).waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await visitor.close();
  });
});
