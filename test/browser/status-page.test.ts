import { writeFetchedIcon } from '@svc/coordinator/store/pages/page-icons.ts';
import { DAY_MS, dayOf, HOUR_MS } from '@svc/coordinator/verdict/summary-range.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { holdScripts } from '../support/browser/held-scripts.ts';
import { pageProblems } from '../support/browser/page-problems.ts';
import { nameOf, skipsBrowser, TestBrowser, VIEWS } from '../support/browser.ts';
import { DeclaredPage } from '../support/declared-page.ts';
import { addSampleHistory } from '../support/sample-history.ts';
import { addRows } from '../support/store-rows.ts';

const MINUTE_MS = 60_000;

type Named = { readonly id: string; readonly name: string };
type Sent = { readonly decodedBodySize: number; readonly encodedBodySize: number };

describe.skipIf(skipsBrowser)('a status page', () => {
  let api: RunningApi;
  let browser: TestBrowser;
  let declared: DeclaredPage;
  beforeAll(async () => {
    api = await startApi();
    declared = await DeclaredPage.declare(api, {
      monitors: ['API', 'Web'],
      page: {
        description: 'The state of our services.',
        homepage_url: 'https://example.com/',
        contact_url: 'mailto:ops@example.com',
      },
    });
    await declared.addStatic('Office');
    await declared.setStatus('API', 'active');
    await declared.setStatus('Web', 'active');
    api.clock.advance(30 * HOUR_MS);
    await declared.setStatus('API', 'degraded');
    api.clock.advance(HOUR_MS);
    await declared.setStatus('API', 'active');
    api.clock.advance(20 * HOUR_MS);
    await declared.setStatus('API', 'error');
    api.clock.advance(HOUR_MS);
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.dispose();
  });

  test.each(VIEWS.map((view) => [nameOf(view), view] as const))('works %s', async (_, view) => {
    const visitor = await browser.visitor(view);
    const page = await visitor.newPage();
    await page.goto(`${api.url}/status/example`);
    await page.getByRole('heading', { name: 'Partial outage', level: 2 }).waitFor();
    // The script has converted the times to the visitor's zone.
    if (view.hasScript) await page.locator('.banner time[title]').waitFor();
    expect(await pageProblems(page)).toEqual([]);

    // The list of days with disruptions is opened by the keyboard alone.
    const days = page.getByRole('listitem').filter({ hasText: 'API' }).locator('details');
    await days.locator('summary').focus();
    await page.keyboard.press('Enter');
    await days.getByText('degraded for 1 hr').waitFor();
    expect(await pageProblems(page)).toEqual([]);

    await days.getByRole('link', { name: 'All days' }).click();
    await page.getByRole('heading', { name: 'API: day by day', level: 1 }).waitFor();
    expect(await page.getByRole('row').count()).toBe(91);
    expect(await pageProblems(page)).toEqual([]);
    await page.getByRole('link', { name: 'Back to Example' }).click();
    await page.getByRole('link', { name: 'Deutsch' }).click();
    await page.getByRole('heading', { name: 'Teilausfall', level: 2 }).waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await visitor.close();
  });

  test("shows times in the visitor's zone, and figures of single days, if scripts run", async () => {
    const visitor = await browser.visitor();
    const page = await visitor.newPage();
    await page.goto(`${api.url}/status/example`);
    const updated = page.locator('.banner time');
    const utc = new Date((await updated.getAttribute('datetime')) ?? '');
    const local = new Intl.DateTimeFormat('en-GB', {
      dateStyle: 'medium',
      timeStyle: 'short',
      timeZone: 'Europe/Berlin',
    }).format(utc);
    await updated.getByText(`${local} CET`, { exact: true }).waitFor();

    const component = page.getByRole('listitem').filter({ hasText: 'API' });
    await component.locator('summary').focus();
    await page.keyboard.press('End');
    await component.locator('details + p').getByText('down for').waitFor();
    await page.keyboard.press('Home');
    await component.locator('details + p').getByText('No data').waitFor();
    await page.keyboard.press('Escape');
    await component.locator('details + p').getByText('uptime').waitFor();
    const bars = await component.locator('summary svg').boundingBox();
    if (bars === null) throw new Error('there are no bars');
    await page.mouse.move(bars.x + bars.width - 2, bars.y + bars.height / 2);
    await component.locator('details + p').getByText('down for').waitFor();
    await visitor.close();
  });

  test.each([
    // The zone, midnight UTC in it (null: midnight), and the day on which the incident begins there.
    ['Asia/Tokyo', '09:00', '2 Jan 2026'],
    ['America/Los_Angeles', '16:00', '1 Jan 2026'],
    ['Asia/Kolkata', '05:30', '2 Jan 2026'],
    ['UTC', null, '2 Jan 2026'],
  ])('shows days in the zone of a visitor in %s', async (zone, midnight, day) => {
    for (const hasScript of [true, false]) {
      const visitor = await browser.visitor({ width: 320, theme: 'dark', hasScript, zone });
      const page = await visitor.newPage();
      await page.goto(`${api.url}/status/example`);
      const heading = page.locator('#past ~ h3');
      await heading.getByText(hasScript ? day : '2 Jan 2026', { exact: true }).waitFor();
      expect(await heading.count()).toBe(1);
      const ends = page.locator('.scale span:last-child');
      const isMoved = hasScript && midnight !== null;
      await ends
        .getByText(isMoved ? `Since ${midnight === '16:00' ? 2 : 3} Jan, ${midnight}` : 'Today (UTC)')
        .waitFor();
      const item = page.getByRole('listitem').filter({ hasText: 'API' }).locator('details li').last();
      expect((await item.textContent())?.split(': ')[0]).toContain(isMoved ? midnight : '2 Jan');
      await page.getByText('Each bar is one day in UTC.').waitFor();
      expect(await pageProblems(page)).toEqual([]);
      await visitor.close();
    }
  });

  test.each(['light', 'dark'] as const)(
    'is %s if its owner wants it, with any theme of the system',
    async (theme) => {
      await declared.setTheme(theme);
      api.clock.advance(1_000);
      const visitor = await browser.visitor({
        width: 768,
        theme: theme === 'light' ? 'dark' : 'light',
        hasScript: true,
      });
      const page = await visitor.newPage();
      await page.goto(`${api.url}/status/example`);
      const colour = await page
        .locator('body')
        .evaluate((body) => Reflect.get(globalThis, 'getComputedStyle')(body).backgroundColor as string);
      expect(colour).toBe(theme === 'light' ? 'rgb(250, 250, 248)' : 'rgb(18, 20, 24)');
      expect(await pageProblems(page)).toEqual([]);
      await visitor.close();
    },
  );

  test('shows response times if its owner wants them', async () => {
    const monitorId = String(await addSampleHistory(api));
    const path = `/v1/status-pages/${await api.create('/v1/status-pages', { title: 'Speed', slug: 'speed' })}`;
    await api.create(`${path}/components`, { type: 'monitor', monitor_id: monitorId });
    await api.create(`${path}/components`, { type: 'static', name: 'Office' });
    await api.call('PATCH', `${path}/appearance`, { latency: '7d' });
    for (const view of VIEWS) {
      const visitor = await browser.visitor(view);
      const page = await visitor.newPage();
      await page.goto(`${api.url}/status/speed`);
      const line = page.getByText(/Response time \d+ ms, 95% within \d+ ms/);
      await line.waitFor();
      expect((await line.locator('svg').boundingBox())?.width).toBeGreaterThan(50);
      await page.getByText('Response times are medians of the last 7 days').waitFor();
      expect(await page.getByText('Response time').count()).toBe(2);
      expect(await pageProblems(page)).toEqual([]);
      await page.locator('summary').click();
      await page.getByRole('link', { name: 'All days' }).click();
      const table = page.getByRole('table', { name: /Response time of Shop in the last 7 days/ });
      expect(await table.getByRole('row').count()).toBe(8);
      expect(await pageProblems(page)).toEqual([]);
      await visitor.close();
    }
  });

  test('loads its icon from this service alone', async () => {
    const url = 'https://icons.example/icon.svg';
    const pageId = Number(await api.create('/v1/status-pages', { title: 'Icon', slug: 'icon', icon: url }));
    const content = Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40"/></svg>',
    );
    const fetched = { pageId, url, validator: null, problem: null, failures: 0, triedAt: 1 };
    const image = { contentType: 'image/svg+xml', content };
    await api.store.transaction((tx) => writeFetchedIcon(tx, fetched, image));
    const visitor = await browser.visitor();
    const page = await visitor.newPage();
    await page.goto(`${api.url}/status/icon`);
    const shown = page.locator('.brand img');
    await expect.poll(() => shown.evaluate((one) => Reflect.get(one, 'naturalWidth'))).toBe(40);
    expect(await pageProblems(page)).toEqual([]);
    await visitor.close();
  });

  test('prints on white, with its states in words and without controls', async () => {
    const visitor = await browser.visitor({ width: 768, theme: 'dark', hasScript: true });
    const page = await visitor.newPage();
    await page.goto(`${api.url}/status/example`);
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByRole('link', { name: 'Deutsch' }).isVisible()).toBe(false);
    expect(await page.getByText('Degraded', { exact: true }).first().isVisible()).toBe(true);
    expect((await page.pdf()).subarray(0, 5).toString()).toBe('%PDF-');
    await visitor.close();
  });

  test('of 50 components and 90 days is sent in 10 KB, and moves nothing while it loads', async () => {
    const names = Array.from({ length: 50 }, (_, index) => `Service number ${index + 1}`);
    await DeclaredPage.declare(api, { monitors: names, page: { slug: 'large' } });
    const list = (await api.call('GET', '/v1/monitors?limit=100')).body as { data: Named[] };
    const ids = list.data.filter(({ name }) => names.includes(name)).map(({ id }) => Number(id));
    expect(ids).toHaveLength(50);
    await addRows(api.store, 'uptime_days', ...ids.flatMap((id) => daysOf(id, dayOf(api.clock.wall()))));
    for (const width of [320, 1440]) {
      const visitor = await browser.visitor({ width, theme: 'light', hasScript: true });
      const page = await visitor.newPage();
      await holdScripts(page);
      await page.goto(`${api.url}/status/large`);
      expect(await page.locator('summary svg').count()).toBe(50);
      expect(await pageProblems(page)).toEqual([]);
      const sent = await page.evaluate<Sent>("performance.getEntriesByType('navigation')[0].toJSON()");
      expect(sent.decodedBodySize).toBeLessThan(40_000);
      expect(sent.encodedBodySize).toBeLessThan(10_000);
      await visitor.close();
    }
  });
});

/** 90 days of a monitor. Some have minutes of a disruption. */
function daysOf(id: number, today: number) {
  return Array.from({ length: 90 }, (_, index) => {
    const error_ms = (id * 7 + index) % 40 === 0 ? 11 * MINUTE_MS : 0;
    const degraded_ms = (id * 13 + index) % 50 === 0 ? 25 * MINUTE_MS : 0;
    const active_ms = DAY_MS - error_ms - degraded_ms;
    return { monitor_id: id, at: today - (index + 1) * DAY_MS, active_ms, degraded_ms, error_ms };
  });
}
