import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { pageProblems, shiftsOf } from '../support/browser/page-problems.ts';
import { skipsBrowser, TestBrowser } from '../support/browser.ts';
import { openDashboard } from '../support/dashboard.ts';

const HOSTILE = `<img src=x onerror="document.title='run'">"'</script><script>document.title='run'</script>`;

describe.skipIf(skipsBrowser)('the dashboard', () => {
  let api: RunningApi;
  let browser: TestBrowser;
  beforeAll(async () => {
    api = await startApi();
    for (let index = 1; index <= 60; index += 1) {
      const name = index === 60 ? HOSTILE : `Monitor ${index}`;
      const body = {
        type: 'http',
        name,
        url: `https://example${index}.com/`,
        periodicity: '1m',
        active: index !== 5,
      };
      expect((await api.call('POST', '/v1/monitors', { ...body, public: false })).status).toBe(201);
    }
    await setStatus(7, 'error');
    await setStatus(8, 'degraded');
    for (let index = 10; index < 60; index += 1) await setStatus(index, 'active');
    const agent = { version: '0.1.0', capacity: 4_000, running: 17, loopDelayMs: 1, isDraining: false };
    const seen = { machine: 'probe-1', lastSeenWall: api.clock.wall() };
    api.agents.set('hosta-fra', [{ id: 'fra-1', ...agent, ...seen, sicknesses: [] }]);
    api.agents.set('hostb-par', [{ id: 'par-1', ...agent, ...seen, sicknesses: ['starved'] }]);
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.dispose();
  });

  const setStatus = (id: number, status: string) =>
    api.store.transaction((tx) =>
      tx.runEach(
        `INSERT INTO monitor_states (monitor_id, status, since) VALUES (?, ?, ?)
         ON CONFLICT (monitor_id) DO UPDATE SET status = excluded.status`,
        [[id, status, api.clock.wall()]],
      ),
    );

  test('a long name wraps in the list, and pushes no column out of view', async () => {
    const name = `${'x'.repeat(100)} https://example.com/${'y'.repeat(100)}`;
    const monitor = { type: 'http', name, url: 'https://example.com/', periodicity: '1m', active: true };
    const id = await api.create('/v1/monitors', monitor);
    const visitor = await browser.visitor();
    const page = await openDashboard(api, visitor, '/?name=xxx');
    for (const width of [320, 768, 1000, 1440]) {
      await page.setViewportSize({ width, height: 900 });
      const hidden = await page
        .locator('.table-frame')
        .evaluate((frame) => Reflect.get(frame, 'scrollWidth') - Reflect.get(frame, 'clientWidth'));
      expect(hidden, `${width} px`).toBe(0);
    }
    await visitor.close();
    expect((await api.call('DELETE', `/v1/monitors/${id}`)).status).toBe(204);
  });

  test.each([true, false])(
    'the overview searches, filters, sorts and pages (with script: %j)',
    async (hasScript) => {
      const visitor = await browser.visitor({ width: 768, theme: 'light', hasScript });
      const page = await openDashboard(api, visitor);
      const first = () => page.locator('tbody th').first().innerText();
      expect(await first()).toContain('Monitor 7');
      expect(await page.title()).toBe('1 down · Monitors · svc');

      await page.getByRole('link', { name: 'Degraded 1' }).click();
      await page.waitForURL(/state=degraded/);
      expect(await page.locator('tbody tr').count()).toBe(1);
      await page.getByRole('link', { name: /^All/ }).click();
      await page.waitForURL(`${api.url}/`);

      await page.getByRole('link', { name: 'Name' }).click();
      await page.waitForURL(/sort=name/);
      expect(await page.locator('th[aria-sort]').getAttribute('aria-sort')).toBe('ascending');
      await page.getByRole('link', { name: 'Next' }).click();
      await page.waitForURL(/offset=50/);
      expect(await page.locator('tbody tr').count()).toBe(10);
      await page.getByText('51 to 60 of 60').waitFor();

      await page.getByLabel('Name').fill('monitor 42');
      await page.getByRole('button', { name: 'Search' }).click();
      await page.waitForURL(/name=monitor\+42/);
      expect(await page.locator('tbody tr').count()).toBe(1);
      await visitor.close();
    },
  );

  test('the list needs no scrolling to the side on a phone, and is a table there', async () => {
    const visitor = await browser.visitor({ width: 320, theme: 'light', hasScript: true });
    const page = await openDashboard(api, visitor);
    const frame = page.getByRole('region', { name: 'Monitors' });
    expect(await frame.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0);
    const row = page.getByRole('row').filter({ hasText: 'Monitor 7' });
    expect(await row.getByRole('cell').count()).toBe(6);
    await page.getByRole('columnheader', { name: 'State' }).getByRole('link').waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await visitor.close();
  });

  test('the present entry of the navigation is in view on a phone, without script', async () => {
    const visitor = await browser.visitor({ width: 320, theme: 'light', hasScript: false });
    const page = await openDashboard(api, visitor);
    const entries = page.getByRole('navigation', { name: 'Main' }).getByRole('link');
    await page.goto(`${api.url}${await entries.last().getAttribute('href')}`);
    const box = await page.locator('nav [aria-current="page"]').boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(320);
    await visitor.close();
  });

  test('a name cannot add script or markup', async () => {
    const visitor = await browser.visitor();
    const page = await openDashboard(api, visitor);
    await page.goto(`${api.url}/?name=${encodeURIComponent('<img')}`);
    expect(await page.locator('tbody th').innerText()).toContain(HOSTILE);
    expect(await page.locator('main img').count()).toBe(0);
    expect(await page.title()).not.toBe('run');
    await visitor.close();
  });

  test('a change of status appears by itself, without a shift of the layout', async () => {
    const visitor = await browser.visitor();
    const page = await openDashboard(api, visitor);
    const listening = page.waitForResponse((response) => response.url().endsWith('/events'));
    await page.reload();
    await listening;
    await page.getByLabel('Name').fill('half typed');
    await setStatus(9, 'error');
    await api.call('POST', '/v1/tokens', { name: 'a change', scope: 'read' });
    // The feed reads once a second by the service's clock. It must have read the state before the change.
    const shown = page.getByRole('link', { name: 'Down 2' });
    while ((await shown.count()) === 0) {
      api.clock.advance(1_000);
      await api.call('POST', '/v1/tokens', { name: 'a change', scope: 'read' });
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 50)));
    }
    expect(await page.getByLabel('Name').inputValue()).toBe('half typed');
    expect(await shiftsOf(page)).toEqual([]);
    await setStatus(9, 'active');
    await visitor.close();
  });

  test('the palette opens with a slash, finds a page by its name, and leads there by keyboard', async () => {
    const visitor = await browser.visitor();
    const page = await openDashboard(api, visitor);
    await page.keyboard.press('/');
    const input = page.getByRole('combobox', { name: /^Go to/ });
    await input.waitFor();
    const options = page.getByRole('listbox', { name: 'Results' }).getByRole('option');
    await options.nth(3).waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await input.fill('audit');
    await options.nth(1).waitFor({ state: 'detached' });
    expect(await options.innerText()).toContain('Audit trail');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${api.url}/audit`);
    await page.keyboard.press('/');
    await input.waitFor();
    await page.keyboard.press('Escape');
    await input.waitFor({ state: 'hidden' });
    // In an input a slash is typed.
    await page.getByLabel('Object').focus();
    await page.keyboard.press('/');
    expect(await page.getByLabel('Object').inputValue()).toBe('/');
    await visitor.close();
  });

  test.each([true, false])('a token is made, shown once and revoked (with script: %j)', async (hasScript) => {
    const visitor = await browser.visitor({ width: 320, theme: 'dark', hasScript });
    const page = await openDashboard(api, visitor, '/tokens');
    await page.getByRole('link', { name: 'New token' }).click();
    await page.getByLabel('Purpose').fill(`Robot ${hasScript}`);
    await page.getByLabel('write').check();
    await page.getByRole('button', { name: 'Create the token' }).click();
    const token = await page.locator('.secret').innerText();
    expect(await pageProblems(page)).toEqual([]);
    const answer = await api.call('GET', '/v1/monitors', undefined, { authorization: `Bearer ${token}` });
    expect(answer.status).toBe(200);
    await page.getByRole('link', { name: 'Done' }).click();
    await page.getByRole('link', { name: `Revoke Robot ${hasScript}` }).click();
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('status').getByText('is revoked').waitFor();
    const after = await api.call('GET', '/v1/monitors', undefined, { authorization: `Bearer ${token}` });
    expect(after.status).toBe(401);
    await page.reload();
    expect(await page.getByRole('status').count()).toBe(0);
    await visitor.close();
  });

  test('an invalid form explains its errors, and keeps what was typed', async () => {
    const visitor = await browser.visitor({ width: 768, theme: 'light', hasScript: false });
    const page = await openDashboard(api, visitor, '/tokens/new');
    await page.getByLabel('Purpose').fill('   ');
    await page.getByLabel('admin').check();
    await page.getByRole('button', { name: 'Create the token' }).click();
    await page.locator('.field-error').waitFor();
    expect(await page.getByLabel('Purpose').getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByLabel('admin').isChecked()).toBe(true);
    await visitor.close();
  });

  test('a token of scope read sees no link to a page that it may not open', async () => {
    const visitor = await browser.visitor();
    const page = await openDashboard({ ...api, operator: api.reader }, visitor);
    expect(await page.getByRole('link', { name: 'API tokens' }).count()).toBe(0);
    await page.goto(`${api.url}/tokens`);
    await page.getByText('This page needs a token of scope admin.').waitFor();
    await visitor.close();
  });
});
