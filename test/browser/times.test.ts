import { HOUR_MS } from '@svc/coordinator/verdict/summary-range.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { DESK, skipsBrowser, TestBrowser } from '../support/browser.ts';
import { openDashboard } from '../support/dashboard.ts';
import { addSampleHistory } from '../support/sample-history.ts';

const ZONE = 'America/New_York';
/** The later one of two instants at 02:30 in Berlin, where clocks are set back from 3 to 2. */
const SECOND_AT_HALF_PAST_TWO = '2025-10-26T01:30:00.000Z';

describe.skipIf(skipsBrowser)('times in the zone of the visitor', () => {
  let api: RunningApi;
  let browser: TestBrowser;
  let monitor: string;
  beforeAll(async () => {
    api = await startApi();
    api.clock.advance(100 * 24 * HOUR_MS);
    monitor = `/monitors/${await addSampleHistory(api)}`;
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.dispose();
  });

  test('all name it: instants, the axes and figures of charts', async () => {
    const visitor = await browser.visitor({ ...DESK, zone: ZONE });
    const page = await openDashboard(api, visitor, `${monitor}?range=7d`);
    await page.getByText(`7 days, all regions, times in ${ZONE}. Failed`).waitFor();
    const instants = await page.locator('time[data-show="instant"]').allTextContents();
    expect(instants.length).toBeGreaterThan(100);
    expect(instants.filter((text) => !/, \d\d:\d\d GMT-4$/.test(text))).toEqual([]);
    const tick = page.locator('[data-chart="Latency"] .chart-times > span').first();
    const at = new Date((await tick.locator('time').first().getAttribute('datetime')) ?? '');
    const format = { day: 'numeric', month: 'short', timeZone: ZONE } as const;
    const clock = { hour: '2-digit', minute: '2-digit', timeZone: ZONE } as const;
    expect(await tick.textContent()).toBe(
      `${at.toLocaleString('en-GB', format)}${at.toLocaleString('en-GB', clock)}`,
    );
    await visitor.close();
  });

  test('are filled in, and reach the address in UTC', async () => {
    const visitor = await browser.visitor({ ...DESK, zone: ZONE });
    const page = await openDashboard(api, visitor, `${monitor}/results`);
    const from = page.getByLabel(`From (${ZONE})`);
    await from.fill('2026-04-10T20:15');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.waitForURL('**from=2026-04-11T00%3A15**');
    expect(await from.inputValue()).toBe('2026-04-10T20:15');
    // A value that is not changed is not converted again.
    await page.getByLabel('Outcome').selectOption('failed');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.waitForURL('**outcome=failed**from=2026-04-11T00%3A15**');
    await page.goBack();
    expect(await from.inputValue()).toBe('2026-04-10T20:15');
    await visitor.close();
  });

  test('of an update that is corrected stay as they are, also where a local time names two instants', async () => {
    const page_ids = [await api.create('/v1/status-pages', { title: 'Status', slug: 'status' })];
    const first = { state: 'identified', text: 'The disk is full.', title: 'Mails wait', impact: 'none' };
    const incident = await api.create('/v1/incidents', { ...first, page_ids });
    const update = { state: 'identified', text: 'It is a disk.', at: SECOND_AT_HALF_PAST_TWO };
    const id = await api.create(`/v1/incidents/${incident}/updates`, update);
    const visitor = await browser.visitor({ ...DESK, zone: 'Europe/Berlin' });
    const page = await openDashboard(api, visitor, `/incidents/${incident}/updates/${id}`);
    const at = page.getByLabel('When this was the case (Europe/Berlin)');
    const save = async () => {
      await page.locator('.form-actions button[value="save"]').click();
      await page.waitForURL(`**/incidents/${incident}`);
      const { body } = await api.call('GET', `/v1/incidents/${incident}/updates/${id}`);
      await page.goBack();
      return (body as { at: string }).at;
    };
    expect(await at.inputValue()).toBe('2025-10-26T02:30');
    await page.getByLabel('What visitors are told').fill('It was a disk.');
    expect(await save()).toBe(SECOND_AT_HALF_PAST_TWO);
    await page.reload();
    await at.fill('2025-12-24T18:00');
    expect(await save()).toBe('2025-12-24T17:00:00.000Z');
    await visitor.close();
  });

  test.each([
    ['the zone of the visitor', true, ZONE],
    ['none, which is UTC', false, ''],
  ])('of a new window have %s; with script: %s', async (_, hasScript, value) => {
    const visitor = await browser.visitor({ ...DESK, hasScript, zone: ZONE });
    const page = await openDashboard(api, visitor, '/maintenance/new');
    const zone = page.getByLabel('Time zone');
    expect(await zone.inputValue()).toBe(value);
    await page.getByLabel('Title').fill('Update');
    await page.getByLabel('Begins').fill('2027-01-01T02:00');
    await page.getByLabel('Ends').fill('2027-01-01T03:00');
    await page.locator('[name="monitor_ids"]').first().check();
    await page.locator('.form-actions button[value="save"]').click();
    await page.getByText('The maintenance window was created.').waitFor();
    const { body } = await api.call('GET', `/v1/maintenance-windows/${page.url().split('/').at(-1)}`);
    expect(body).toMatchObject({ time_zone: value || 'UTC' });
    await visitor.close();
  });
});
