import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { pageProblems } from '../support/browser/page-problems.ts';
import { nameOf, skipsBrowser, TestBrowser, VIEWS } from '../support/browser.ts';
import { World } from '../support/contract/world.ts';
import { openDashboard } from '../support/dashboard.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';

let api: RunningApi;
let browser: TestBrowser;
let receiver: Receiver;

const webhook = (endpoint: string) => ({ name: 'Ops', provider_type: 'webhook', webhook: { endpoint } });

describe.skipIf(skipsBrowser)('channels', () => {
  beforeAll(async () => {
    api = await startApi();
    browser = await TestBrowser.launch();
    receiver = await startReceiver();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.dispose();
    await receiver?.close();
  });

  test('an empty list explains channels, and links to the form of the first', async () => {
    const visitor = await browser.visitor();
    const page = await openDashboard(api, visitor, '/channels');
    await page.getByText('There is no channel yet, so no alert is sent').waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await page.getByRole('link', { name: 'New channel' }).first().click();
    await page.getByRole('link', { name: 'SMS' }).click();
    await page.getByRole('heading', { name: 'New channel: SMS' }).waitFor();
    await visitor.close();
  });

  test.each(VIEWS.map((view) => [nameOf(view), view] as const))(
    'a test and its attempt are in the ledger %s',
    async (_name, view) => {
      const id = await api.create('/v1/notifications', webhook(`${receiver.url}/hook`));
      const before = receiver.requests.length;
      const visitor = await browser.visitor(view);
      const page = await openDashboard(api, visitor, `/channels/${id}`);
      await page.getByText('Nothing was sent yet').waitFor();
      expect(await pageProblems(page)).toEqual([]);
      await page.getByRole('button', { name: 'Send a test' }).click();
      await page.getByRole('status').getByText('The test was delivered.').waitFor();
      await receiver.received(before + 1);
      // The address opens the attempts of the test.
      await page.getByRole('cell', { name: '200' }).waitFor();
      expect(await pageProblems(page)).toEqual([]);
      await page.getByRole('link', { name: 'Given up' }).click();
      await page.getByText('No alert is in this state.').waitFor();
      await page.goto(`${api.url}/channels`);
      expect(await pageProblems(page)).toEqual([]);
      await visitor.close();
    },
  );

  test('a test that does not arrive says why, and the channel shows it', async () => {
    const id = await api.create('/v1/notifications', webhook('http://127.0.0.1:1/hook'));
    const visitor = await browser.visitor();
    const page = await openDashboard(api, visitor, `/channels/${id}`);
    await page.getByRole('button', { name: 'Send a test' }).click();
    await page.getByRole('status').getByText('The test was not delivered').waitFor();
    // A test cannot be sent again: a button sends another test.
    expect(await page.getByRole('button', { name: /Send again/ }).count()).toBe(0);
    expect(await pageProblems(page)).toEqual([]);
    await visitor.close();
  });

  test('alerts that were given up are sent again, one or all', async () => {
    const id = await api.create('/v1/notifications', webhook(`${receiver.url}/again`));
    const world = World.ofOperator(api);
    for (let index = 0; index < 3; index += 1) await world.delivery('dead', { notification: id });
    const before = receiver.requests.length;
    const visitor = await browser.visitor({ width: 320, theme: 'light', hasScript: false });
    const page = await openDashboard(api, visitor, `/channels/${id}?state=dead`);
    expect(await pageProblems(page)).toEqual([]);
    await page
      .getByRole('button', { name: /^Send again/ })
      .first()
      .click();
    await page.getByRole('status').getByText('The alert is sent again.').waitFor();
    await receiver.received(before + 1);
    await page.goto(`${api.url}/channels/${id}?state=dead`);
    await page.getByRole('button', { name: 'Send all given-up alerts again' }).click();
    await page.getByRole('status').getByText('2 alerts are sent again.').waitFor();
    await receiver.received(before + 3);
    await visitor.close();
  });

  test('a session of a read token sees no button', async () => {
    const id = await api.create('/v1/notifications', webhook(`${receiver.url}/secret-path`));
    const visitor = await browser.visitor();
    const page = await openDashboard({ ...api, operator: api.reader }, visitor, `/channels/${id}`);
    await page.getByRole('heading', { name: 'Ops', level: 1 }).waitFor();
    expect(await page.locator('main form, main .button').count()).toBe(0);
    expect(await page.content()).not.toContain('secret-path');
    for (const path of [`/channels/${id}/edit`, `/channels/${id}/delete`, '/channels/new']) {
      const response = await page.goto(`${api.url}${path}`);
      expect(response?.status()).toBe(403);
    }
    await visitor.close();
  });

  test('of many monitors the searched ones are offered, and the others stay linked', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 120; index += 1) {
      const name = `Monitor ${String(index).padStart(3, '0')}`;
      ids.push(
        await api.create('/v1/monitors', { type: 'tcp', name, uri: 'a.example:1', periodicity: '1m' }),
      );
    }
    const id = await api.create('/v1/notifications', {
      ...webhook(`${receiver.url}/hook`),
      monitor_ids: ids.slice(0, 110),
    });
    const visitor = await browser.visitor({ width: 768, theme: 'dark', hasScript: false });
    const page = await openDashboard(api, visitor, `/channels/${id}/edit`);
    await page.getByText('10 more are linked, and stay linked').waitFor();
    expect(await pageProblems(page)).toEqual([]);
    await page.getByLabel('Monitor 003').uncheck();
    await page.getByLabel('Search monitors').fill('monitor 115');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByLabel('Monitor 115').check();
    expect(await page.getByLabel('Monitor 003').isChecked()).toBe(false);
    await page.locator('.form-actions button[value="save"]').click();
    await page.getByRole('status').getByText('was saved').waitFor();
    const { body } = await api.call('GET', `/v1/notifications/${id}`);
    const linked = (body as { monitor_ids: string[] }).monitor_ids;
    const expected = [...ids.slice(0, 110).filter((each) => each !== ids[3]), ids[115]];
    expect([...linked].sort()).toEqual(expected.sort());
    await visitor.close();
  });
});
