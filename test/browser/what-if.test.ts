import type { CheckRunner } from '@svc/coordinator/api/api-parts.ts';
import type { Comparison, WhatIf } from '@svc/coordinator/history/what-if/compare.ts';
import { writeLastSeen } from '@svc/coordinator/store/results/region-absences.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { pageProblems } from '../support/browser/page-problems.ts';
import { DESK, nameOf, skipsBrowser, TestBrowser, VIEWS } from '../support/browser.ts';
import { openDashboard } from '../support/dashboard.ts';

const NO_SCRIPT = { ...DESK, hasScript: false };
const AT = Date.UTC(2026, 0, 2, 10);
const TIMES = { active: 600_000_000, degraded: 0, error: 4_800_000, unknown: 0, maintenance: 0 };
const COMPARED: Comparison = {
  from: AT - 604_800_000,
  until: AT,
  actual: {
    times: TIMES,
    changes: [
      { from: 'active', to: 'error', reason: 'majority-failed', at: AT - 7_200_000 },
      { from: 'error', to: 'active', reason: 'all-passed', at: AT - 6_000_000 },
    ],
    alerts: [
      { notificationId: 1, status: 'error', at: AT - 7_200_000 },
      { notificationId: 1, status: 'recovered', at: AT - 6_000_000 },
    ],
  },
  replayed: { times: { ...TIMES, active: 604_800_000, error: 0 }, changes: [], alerts: [] },
};

const FOUND = {
  started_at: AT,
  latency: 48.2,
  phases: { dns: 1.2, connect: 12, tls: 14, first_byte: 20, transfer: 1 },
  attempts: [],
};
const checks: CheckRunner = {
  runNow: async () => [
    {
      region: 'hosta-fra',
      agent: 'fra-1',
      result: {
        ...FOUND,
        outcome: 'failed',
        status_code: 503,
        error_message: 'expected a status code equal to 200, saw 503',
        assertions: [
          {
            assertion: 'a status code equal to 200',
            failure: 'expected a status code equal to 200, saw 503',
          },
          { assertion: 'the body to contain "ok"', failure: null },
        ],
      },
    },
    { region: 'hosta-iad', agent: null, result: null },
  ],
};

describe.skipIf(skipsBrowser)('trials before saving', () => {
  let api: RunningApi;
  let browser: TestBrowser;
  let path: string;
  const asked: WhatIf[] = [];
  beforeAll(async () => {
    const compare = async (whatIf: WhatIf) => {
      asked.push(whatIf);
      return COMPARED;
    };
    api = await startApi({ checks, whatIfs: { compare } });
    const { body } = await api.call('POST', '/v1/monitors', {
      ...{ type: 'http', name: 'Shop', url: 'https://shop.example/', periodicity: '1m', active: true },
      ...{ retry: 2, degraded_at: 400, regions: ['hosta-fra', 'hosta-iad'] },
    });
    path = `/monitors/${(body as { id: string }).id}`;
    browser = await TestBrowser.launch();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.dispose();
  });

  test.each(VIEWS.map((view) => [nameOf(view), view] as const))('is whole %s', async (_, view) => {
    const visitor = await browser.visitor(view);
    const page = await openDashboard(api, visitor, `${path}/what-if`);
    await page.getByRole('heading', { name: 'Replay with other settings' }).waitFor();
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByRole('heading', { name: 'What would have happened' }).waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await page.goto(`${api.url}${path}/edit`);
    await page.getByRole('button', { name: 'Run it now' }).click();
    await page.getByRole('heading', { name: 'What the regions found' }).waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await visitor.close();
  });

  test('a replay shows its alerts beside the sent ones, without a script', async () => {
    const visitor = await browser.visitor(NO_SCRIPT);
    const page = await openDashboard(api, visitor, `${path}/what-if`);
    await page.getByLabel('The last').selectOption('7');
    await page.getByLabel('Further attempts').fill('1');
    await page.getByLabel('hosta-iad').uncheck();
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByText('2 fewer alerts would have been sent.').waitFor();
    expect(asked.at(-1)).toMatchObject({ settings: { retry: 1, regions: ['hosta-fra'] } });
    const rows = page.getByLabel('Alerts', { exact: true }).locator('tbody tr');
    expect(await rows.count()).toBe(2);
    await visitor.close();
  });

  test('an invalid setting is explained, and stays in its field', async () => {
    const visitor = await browser.visitor(NO_SCRIPT);
    const replays = asked.length;
    const page = await openDashboard(api, visitor, `${path}/what-if?days=7&retry=9&region=hosta-fra`);
    // A link fills in the form, and the button replays.
    expect(await page.getByLabel('Further attempts').inputValue()).toBe('9');
    // The browser itself would refuse to send the form. Other clients would not.
    const form = page.locator('form', { has: page.getByRole('button', { name: 'Replay' }) });
    await form.evaluate((element) => Reflect.set(element, 'noValidate', true));
    await page.getByRole('button', { name: 'Replay' }).click();
    await page.getByText('must be at most 2').waitFor();
    expect(asked.length).toBe(replays);
    expect(await page.getByLabel('Further attempts').inputValue()).toBe('9');
    await visitor.close();
  });

  test('a draft runs from its regions, is not saved, and keeps its fields', async () => {
    const lost = { region: 'hosta-iad', at: Date.UTC(2025, 11, 31, 3, 4) };
    await api.store.transaction((tx) => writeLastSeen(tx, [lost]));
    const visitor = await browser.visitor(NO_SCRIPT);
    const page = await openDashboard(api, visitor, '/monitors/new?type=http');
    await page.getByRole('button', { name: 'Run it now' }).click();
    await page.getByText('Nothing was saved').first().waitFor();
    await page.getByLabel('Name', { exact: true }).fill('Draft');
    await page.getByLabel('Url', { exact: false }).first().fill('https://draft.example/');
    await page.getByRole('button', { name: 'Run it now' }).click();
    await page.getByRole('heading', { name: 'What the regions found' }).waitFor();
    await page
      .getByText('no agent has taken jobs there since 31 Dec 2025, 03:04 UTC (20 hours ago)')
      .waitFor();
    await page.getByText('the body to contain "ok"').waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Draft');
    const { body } = await api.call('GET', '/v1/monitors?name=Draft');
    expect(body).toMatchObject({ total: 0 });
    await visitor.close();
  });
});
