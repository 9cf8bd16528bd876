import { Statuspage } from 'statuspage.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { DeclaredPage } from '../../../../test/support/declared-page.ts';
import {
  MINUTE_MS,
  NO_NOTES,
  NOW,
  pageSource,
  placeIn,
  shownMonitor,
  storedComponent,
  storedGroup,
  storedWindow,
} from '../../../../test/support/status-page-source.ts';
import { DAY_MS } from '../verdict/summary-range.ts';
import { componentsJson, maintenanceJson, statusJson } from './aggregator-json.ts';
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
  // Without this setting, the library sends its requests to the vendor's host.
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

test('maintenance has an update for each of its stages, newest first, with its text', async () => {
  const { body } = await api.call('GET', '/v1/status-pages');
  const [{ id: pageId } = { id: '' }] = (body as { data: { id: string }[] }).data;
  const begin = api.clock.wall() + MINUTE_MS;
  const at = (ms: number) => new Date(ms).toISOString();
  await api.create('/v1/maintenance-windows', {
    title: 'Move',
    text: 'We move:\n\n- to another rack',
    starts_at: at(begin),
    ends_at: at(begin + MINUTE_MS),
    page_ids: [pageId],
  });
  const seen: (readonly unknown[])[][] = [];
  for (const read of ['upcoming', 'active', 'all'] as const) {
    api.clock.advance(read === 'upcoming' ? 1_000 : MINUTE_MS);
    const { scheduled_maintenances: windows } = await client[`${read}ScheduledMaintenances`]();
    const [window] = windows;
    seen.push((window?.incident_updates ?? []).map(({ status, body, id }) => [status, body, id]));
    const newest = window?.incident_updates[0];
    expect([newest?.status, newest?.incident_id]).toEqual([window?.status, window?.id]);
    const began = { upcoming: begin - MINUTE_MS, active: begin, all: begin + MINUTE_MS }[read];
    // The client converts instants to dates.
    expect(newest?.display_at).toEqual(new Date(began));
  }
  const [planned, , completed] = seen;
  expect(completed?.map(([status]) => status)).toEqual(['completed', 'in_progress', 'scheduled']);
  expect(completed?.every(([, text]) => text === 'We move:\n\n- to another rack')).toBe(true);
  expect(completed?.slice(2)).toEqual(planned);
});

test('a repeated maintenance is planned when the one before it has ended', () => {
  const nightly = { frequency: 'daily', interval: 1, weekdays: [], week: null, until: null } as const;
  const window = storedWindow({
    pageIds: [1],
    startsAt: NOW - 40 * DAY_MS,
    endsAt: NOW - 40 * DAY_MS + MINUTE_MS,
    createdAt: NOW - 50 * DAY_MS,
    updatedAt: NOW - MINUTE_MS,
    repeat: nightly,
  });
  const view = pageView(pageSource({ notes: { ...NO_NOTES, windows: [window] }, now: NOW + 2 * MINUTE_MS }));
  const { scheduled_maintenances: windows } = JSON.parse(
    maintenanceJson('scheduled', 'in_progress', 'completed')(view, placeIn()),
  );
  const before = NOW - DAY_MS;
  expect(windows.slice(-2)).toMatchObject([
    {
      status: 'completed',
      created_at: new Date(before + MINUTE_MS).toISOString(),
      updated_at: new Date(NOW + MINUTE_MS).toISOString(),
      incident_updates: [
        { body: 'Move', status: 'completed' },
        { status: 'in_progress' },
        { status: 'scheduled' },
      ],
    },
    { status: 'scheduled', created_at: new Date(NOW + MINUTE_MS).toISOString() },
  ]);
  expect(new Set(windows.map(({ id }: { id: string }) => id)).size).toBe(windows.length);
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

test('missing data is no outage, and the description mentions it', () => {
  const view = pageView(pageSource({ monitors: new Map([[1, shownMonitor(1, 'unknown')]]) }));
  expect(JSON.parse(statusJson(view, placeIn())).status).toEqual({
    indicator: 'none',
    description: 'No current data',
  });
  expect(JSON.parse(componentsJson(view, placeIn())).components[0].status).toBe('operational');
});
