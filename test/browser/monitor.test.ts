import { DAY_MS, HOUR_MS } from '@svc/coordinator/verdict/summary-range.ts';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { pageProblems, shiftsOf } from '../support/browser/page-problems.ts';
import { DESK, nameOf, skipsBrowser, TestBrowser, VIEWS } from '../support/browser.ts';
import { openDashboard } from '../support/dashboard.ts';
import { addResults } from '../support/recorded-results.ts';
import { addSampleHistory } from '../support/sample-history.ts';
import { addRows } from '../support/store-rows.ts';

const NO_SCRIPT = { ...DESK, hasScript: false };

/** Opens all details, so that their content is checked too. It works without scripts. */
async function openAll(page: Page): Promise<void> {
  for (const summary of await page.locator('details:not([open]) > summary').all()) {
    if (await summary.isVisible()) await summary.click();
  }
}

/** The newest cell of a column in the table of a chart. */
async function newestOf(chart: Locator, title: string): Promise<string> {
  const titles = await chart.locator('thead th').allTextContents();
  const cells = await chart.locator('tbody tr').first().locator('th, td').allTextContents();
  return cells[titles.indexOf(title)] ?? 'no such column';
}

/** The longest id of a region. Its name has the maximum length too. */
const OWN_REGION = 'w'.repeat(32);

describe.skipIf(skipsBrowser)('the page of a monitor', () => {
  let api: RunningApi;
  let browser: TestBrowser;
  let id: number;
  let path: string;
  beforeAll(async () => {
    api = await startApi({ ownRegions: [{ id: OWN_REGION, name: 'W'.repeat(64) }] });
    api.clock.advance(200 * DAY_MS + 13.75 * HOUR_MS);
    id = await addSampleHistory(api);
    path = `/monitors/${id}`;
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.dispose();
  });

  test.each(VIEWS.map((view) => [nameOf(view), view] as const))('is whole %s', async (_, view) => {
    const visitor = await browser.visitor(view);
    const page = await openDashboard(api, visitor, path);
    for (const name of ['Uptime', 'Latency', 'Regions', 'Changes', 'Deliveries', 'Results'])
      await page.getByRole('heading', { name, level: 2 }).waitFor();
    await openAll(page);
    expect(await pageProblems(page)).toEqual([]);
    for (const name of ['Results', 'Changes', 'Deliveries']) {
      await page.getByLabel('Pages of Shop').getByRole('link', { name }).click();
      await page.waitForURL(`**${path}/${name.toLowerCase()}`);
      await page.locator('details > summary').first().click();
      expect(await pageProblems(page), name).toEqual([]);
    }
    await visitor.close();
  });

  test('has figures of uptime, latency and regions, without a script', async () => {
    const visitor = await browser.visitor(NO_SCRIPT);
    const page = await openDashboard(api, visitor, path);
    await page.getByText('12 min down', { exact: true }).waitFor();
    const bars = page.getByRole('img', { name: 'The worst state on each of the last 71 days' });
    expect(await bars.getAttribute('aria-label')).toContain('down on 2, degraded on 3');
    const latency = page.locator('[data-chart="Latency"]');
    expect(await latency.getByRole('img').getAttribute('aria-label')).toMatch(
      /^Latency\. The median was from \d+ ms to \d+ ms/,
    );
    await latency.locator('summary').click();
    expect(await newestOf(latency, 'p50')).toMatch(/^\d+ ms$/);
    expect(await latency.locator('tbody tr').count()).toBe(48);
    const phases = page.locator('[data-chart="Phases"]');
    await phases.locator('summary').click();
    expect(await newestOf(phases, 'Together')).toMatch(/^\d+ ms$/);
    const row = page.getByRole('row', { name: /hostc-us-east4/ });
    expect(await row.textContent()).toContain('100.00%');
    await visitor.close();
  });

  test('shows other ranges and one region by links and a form', async () => {
    const visitor = await browser.visitor(NO_SCRIPT);
    const page = await openDashboard(api, visitor, path);
    for (const [range, rows] of [
      ['1 hour', 60],
      ['6 hours', 72],
      ['7 days', 168],
      ['14 days', 336],
      ['90 days', 90],
    ] as const) {
      await page.getByLabel('Range of the charts').getByRole('link', { name: range }).click();
      await page.getByText(`${range}, all regions, times in UTC. Failed`).waitFor();
      expect(await page.locator('[data-chart="Latency"] tbody tr').count(), range).toBe(rows);
    }
    await page.getByLabel('Region of the charts').selectOption('hostb-par');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByText('90 days, hostb-par, times in UTC. Failed').waitFor();
    await visitor.close();
  });

  test('shows the values of a chart under the pointer, and by the keys', async () => {
    const visitor = await browser.visitor();
    const page = await openDashboard(api, visitor, path);
    const latency = page.locator('[data-chart="Latency"]');
    const slider = latency.getByRole('slider');
    const note = latency.locator('.chart-note');
    const resting = await note.textContent();
    await slider.focus();
    await page.keyboard.press('ArrowLeft');
    const told = (await note.textContent()) ?? '';
    expect(told).toMatch(/ CES?T · p50 \d+ ms · p95 \d+ ms · p99 \d+ ms · Failed \d+ of \d+$/);
    expect(await slider.getAttribute('aria-valuetext')).toBe(told);
    await page.keyboard.press('ArrowLeft');
    expect(await note.textContent()).not.toBe(told);
    await slider.blur();
    expect(await note.textContent()).toBe(resting);
    await slider.hover();
    expect(await note.textContent()).toContain('p50');
    await page.mouse.move(0, 0);
    expect(await note.textContent()).toBe(resting);
    await visitor.close();
  });

  test('lists results by outcome, region and time, in pages, with each attempt', async () => {
    const visitor = await browser.visitor(NO_SCRIPT);
    const page = await openDashboard(api, visitor, `${path}/results`);
    expect(await page.locator('.log > li').count()).toBe(50);
    await page.getByRole('link', { name: 'Older' }).click();
    await page.getByRole('link', { name: 'Newest' }).waitFor();
    await page.getByLabel('Outcome').selectOption('failed');
    await page.getByLabel('Region').selectOption('hosta-fra');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.waitForURL('**outcome=failed**');
    expect(await page.locator('.log > li').count()).toBe(12);
    const first = page.locator('.log > li').first();
    await first.locator('summary').click();
    const attempts = first.getByRole('table').first();
    await attempts.getByText('3 attempts').waitFor();
    expect(await attempts.getByText('status code 503, expected 200').count()).toBe(3);
    await first.getByText('Phases of the last attempt').waitFor();

    const began = new Date(api.clock.wall() - 3 * HOUR_MS + 5 * 60_000).toISOString().slice(0, 16);
    await page.getByLabel('From (UTC)').fill(began);
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.waitForURL('**from=2**');
    expect(await page.getByLabel('From (UTC)').inputValue()).toBe(began);
    expect(await page.locator('.log > li').count()).toBe(7);
    await page.getByLabel('Outcome').selectOption('not_run');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.getByRole('heading', { name: 'No such results' }).waitFor();
    await visitor.close();
  });

  test('shows changes with the votes that caused them, and deliveries with their attempts', async () => {
    const visitor = await browser.visitor(NO_SCRIPT);
    const page = await openDashboard(api, visitor, `${path}/changes`);
    const outage = page.getByText(
      '2 of 3 regions failed: status code 503, expected 200 (hosta-fra, hostb-par).',
    );
    await outage.click();
    expect(
      await page
        .getByRole('row', { name: /hostc-us-east4/ })
        .filter({ visible: true })
        .textContent(),
    ).toContain('Passed');
    await page.getByText('This was found 5 times within 4 min.').waitFor();
    await page.goto(`${api.url}${path}/deliveries`);
    await page.getByText('Alert: recovered, 1 attempt: answered 410: gone').click();
    await page.getByRole('cell', { name: 'The address is dead' }).filter({ visible: true }).waitFor();
    await page.getByText('Alert: down, 2 attempts').click();
    await page.getByRole('cell', { name: 'Failed, tried again' }).filter({ visible: true }).waitFor();
    await page.getByRole('link', { name: 'Ops room' }).filter({ visible: true }).first().click();
    await page.getByText('Shop · Alert: recovered').waitFor();
    await visitor.close();
  });

  test('the time of a delivery does not run into its state on a phone', async () => {
    const visitor = await browser.visitor({ ...DESK, width: 320 });
    const page = await openDashboard(api, visitor, `${path}/deliveries`);
    const time = await page.locator('.log-line time').first().boundingBox();
    const state = await page.locator('.log-line .log-state').first().boundingBox();
    expect((time?.x ?? 0) + (time?.width ?? 0)).toBeLessThan(state?.x ?? 0);
    await visitor.close();
  });

  test('says what comes next while a new monitor has no data', async () => {
    const monitor = { type: 'tcp', name: 'New', uri: 'db.example:5432', periodicity: '1h' };
    const { body } = await api.call('POST', '/v1/monitors', monitor);
    const fresh = `/monitors/${(body as { id: string }).id}`;
    const visitor = await browser.visitor(NO_SCRIPT);
    const page = await openDashboard(api, visitor, fresh);
    for (const text of [
      'No region has reported yet. The first',
      'The status has not changed yet',
      'no data yet',
      'There is no result of this time',
      'Nobody: no channel is linked to this monitor',
    ])
      await page.getByText(text).first().waitFor();
    expect(await page.locator('.status-bars, .chart-lines').count()).toBe(0);
    expect(await pageProblems(page)).toEqual([]);
    for (const [view, text] of [
      ['results', 'No results yet'],
      ['changes', 'No changes yet'],
      ['deliveries', 'No alerts yet'],
    ]) {
      await page.goto(`${api.url}${fresh}/${view}`);
      await page.getByText(text ?? '').waitFor();
      expect(await pageProblems(page), view).toEqual([]);
    }
    await page.goto(`${api.url}/monitors/999999`);
    await page.getByText('there is no monitor 999999').waitFor();
    await visitor.close();
  });

  test('is updated by itself, except opened details', async () => {
    const liveId = await addSampleHistory(api, 'Live');
    const visitor = await browser.visitor();
    const page = await openDashboard(api, visitor, `/monitors/${liveId}`);
    const listening = page.waitForResponse((response) => response.url().endsWith('/events'));
    await page.reload();
    await listening;
    const newest = page.locator('#newest-changes details').first();
    await newest.locator('summary').click();
    api.states.set(liveId, { status: 'error', votes: [] });
    const down = page.locator('#monitor-state').getByText('Down');
    // The feed reads once a second by the service's clock. It must have read the state before the change.
    while ((await down.count()) === 0) {
      api.clock.advance(1_000);
      await api.call('POST', '/v1/tokens', { name: 'a change', scope: 'read' });
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 50)));
    }
    await page.locator('#region-figures').getByText('None that counts').first().waitFor();
    expect(await newest.getAttribute('open')).not.toBeNull();
    expect(await shiftsOf(page)).toEqual([]);
    await visitor.close();
  });

  test('has room for the longest texts on the smallest screen', async () => {
    const long = 'w'.repeat(240);
    const monitor = {
      type: 'http',
      name: long,
      url: `https://shop.example/${long}${long}`,
      periodicity: '1m',
      active: true,
      regions: [OWN_REGION, 'hostc-asia-southeast1'],
    };
    const { body } = await api.call('POST', '/v1/monitors', { ...monitor, description: long });
    const longId = Number((body as { id: string }).id);
    const slot = api.clock.wall();
    await addRows(api.store, 'off_grid_slots', { monitor_id: longId, slot });
    await addResults(api.store, {
      ...{ slot, monitor_id: longId, region: 'hostc-asia-southeast1', outcome: 'failed', latency: 1 },
      ...{ error_message: long, agent: long },
    });
    await addRows(api.store, 'monitor_notices', {
      ...{ monitor_id: longId, region: OWN_REGION, since: slot, key: 'long', told: '[]' },
    });
    const visitor = await browser.visitor({ width: 320, theme: 'light', hasScript: true });
    for (const where of [
      `/monitors/${longId}`,
      `/monitors/${longId}/results`,
      `/monitors/${longId}/what-if`,
      '/?name=www',
    ]) {
      const page = await openDashboard(api, visitor, where);
      await openAll(page);
      expect(await pageProblems(page), where).toEqual([]);
    }
    await visitor.close();
  });

  test('escapes texts of monitors, targets and channels', async () => {
    const evil = '<img src=x onerror="document.title=1">';
    const monitor = {
      type: 'http',
      name: evil,
      url: 'https://a.example/?q="><script>1</script>',
      periodicity: '1m',
    };
    const { body } = await api.call('POST', '/v1/monitors', { ...monitor, description: evil });
    const evilId = Number((body as { id: string }).id);
    const slot = api.clock.wall();
    await addRows(api.store, 'off_grid_slots', { monitor_id: evilId, slot });
    await addResults(api.store, {
      ...{ slot, monitor_id: evilId, region: 'hosta-fra', outcome: 'failed', latency: 1 },
      ...{ error_message: evil, agent: evil },
    });
    const visitor = await browser.visitor();
    const page = await openDashboard(api, visitor);
    for (const view of ['', '/results', '/changes', '/deliveries']) {
      await page.goto(`${api.url}/monitors/${evilId}${view}`);
      await page.getByRole('heading', { name: evil, level: 1 }).waitFor();
      expect(await page.locator('main img').count(), view).toBe(0);
      expect(await page.locator('main script').count(), view).toBe(0);
    }
    await visitor.close();
  });
});
