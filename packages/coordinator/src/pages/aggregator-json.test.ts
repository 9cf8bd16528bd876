import { Statuspage } from 'statuspage.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { DeclaredPage } from '../../../../test/support/declared-page.ts';
import {
  pageSource,
  placeIn,
  shownMonitor,
  storedComponent,
  storedGroup,
} from '../../../../test/support/status-page-source.ts';
import { componentsJson, statusJson } from './aggregator-json.ts';
import { pageView } from './page-view.ts';

let api: RunningApi;
let client: Statuspage;

beforeAll(async () => {
  api = await startApi();
  const page = await DeclaredPage.declare(api, { monitors: ['API', 'Web'] });
  await page.setStatus('API', 'active');
  await page.setStatus('Web', 'active');
  api.clock.advance(60_000);
  await page.setStatus('API', 'degraded');
  api.clock.advance(60_000);
  await page.setStatus('API', 'active');
  api.clock.advance(60_000);
  await page.setStatus('API', 'error');
  client = new Statuspage('example');
  // The library asks the vendor's host by default.
  Object.assign(Reflect.get(client, 'axios').defaults, { baseURL: `${api.url}/status/example/api/v2` });
});
afterAll(() => api?.dispose());

test('a public client library reads everything', async () => {
  const { status, components, incidents, scheduled_maintenances: windows, page } = await client.summary();
  expect(page).toMatchObject({
    id: expect.any(String),
    name: 'Example',
    url: 'http://svc.example/status/example',
  });
  expect(status).toEqual({ indicator: 'major', description: 'Partial outage' });
  expect(components?.map(({ name, status: state }) => [name, state])).toEqual([
    ['API', 'major_outage'],
    ['Web', 'operational'],
  ]);
  expect(incidents).toMatchObject([
    {
      name: 'API down',
      status: 'investigating',
      impact: 'major',
      resolved_at: null,
      incident_updates: [{ status: 'investigating', body: 'API is down.' }],
      components: [{ name: 'API' }],
    },
  ]);
  expect(windows).toEqual([]);
  expect((await client.status()).status).toEqual(status);
  expect((await client.components()).components).toEqual(components);
  expect((await client.unresolvedIncidents()).incidents).toEqual(incidents);
  const all = (await client.allIncidents()).incidents;
  expect(all.map(({ status: state, impact }) => [state, impact])).toEqual([
    ['investigating', 'major'],
    ['resolved', 'minor'],
  ]);
  expect((await client.allScheduledMaintenances()).scheduled_maintenances).toEqual([]);
  expect((await client.activeScheduledMaintenances()).scheduled_maintenances).toEqual([]);
  expect((await client.upcomingScheduledMaintenances()).scheduled_maintenances).toEqual([]);
});

test('groups are components that name their members', () => {
  const view = pageView(
    pageSource({
      groups: [storedGroup(4, 'Services')],
      components: [storedComponent(1, { group_id: '4' }), storedComponent(2)],
    }),
  );
  const { components } = JSON.parse(componentsJson(view, placeIn()));
  expect(components.map(({ id, group, group_id }: Record<string, unknown>) => [id, group, group_id])).toEqual(
    [
      ['g4', true, null],
      ['1', false, 'g4'],
      ['2', false, null],
    ],
  );
  expect(components[0].components).toEqual(['1']);
});

test('missing data is no outage, and is said in the description', () => {
  const view = pageView(pageSource({ monitors: new Map([[1, shownMonitor(1, 'unknown')]]) }));
  expect(JSON.parse(statusJson(view, placeIn())).status).toEqual({
    indicator: 'none',
    description: 'No current data',
  });
  expect(JSON.parse(componentsJson(view, placeIn())).components[0].status).toBe('operational');
});
