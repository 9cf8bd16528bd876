import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';
import { DashboardSession, filledIn } from '../../../../../test/support/dashboard/session.ts';
import type { IncidentView, UpdateView } from '../../api/routes/incidents.ts';
import type { WindowView } from '../../api/routes/maintenance.ts';

let api: RunningApi;
let session: DashboardSession;
let pageId = '';
let componentId = '';
const monitorIds: string[] = [];

async function made<T extends { id: string }>(path: string, body: object): Promise<T> {
  const answer = await api.call('POST', path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body as T;
}

const readOf = async <T>(path: string) => (await api.call('GET', path)).body as T;

beforeAll(async () => {
  api = await startApi();
  for (let index = 0; index < 130; index += 1) {
    const name = `Server ${String(index).padStart(3, '0')}`;
    const body = { type: 'tcp', name, uri: 'mail.example:25', periodicity: '1m', public: true };
    monitorIds.push((await made('/v1/monitors', body)).id);
  }
  pageId = (await made('/v1/status-pages', { title: 'Status', slug: 'status' })).id;
  const component = { type: 'monitor', monitor_id: monitorIds[3] };
  componentId = (await made(`/v1/status-pages/${pageId}/components`, component)).id;
  session = await DashboardSession.open(api);
});
afterAll(() => api.dispose());

const WINDOW = {
  title: 'Move <b>',
  text: 'Two\nlines',
  starts_at: '2026-01-07T02:00',
  ends_at: '2026-01-07T04:30',
  time_zone: 'Europe/Berlin',
};

describe('the form of a maintenance window', () => {
  test('schedules a repetition in full', async () => {
    const { status, location, text } = await session.send('/maintenance/new', '/maintenance/new', {
      ...WINDOW,
      'repeat.frequency': 'weekly',
      'repeat.interval': '2',
      'repeat.weekdays': ['wed', 'sat'],
      'repeat.until': '2026-06-01T00:00',
      page_ids: pageId,
      component_ids: componentId,
    });
    expect(status, text).toBe(303);
    expect(await readOf<WindowView>(`/v1/maintenance-windows/${location?.split('/').at(-1)}`)).toMatchObject({
      title: 'Move <b>',
      text: 'Two\nlines',
      starts_at: '2026-01-07T01:00:00.000Z',
      ends_at: '2026-01-07T03:30:00.000Z',
      time_zone: 'Europe/Berlin',
      repeat: {
        frequency: 'weekly',
        interval: 2,
        weekdays: ['wed', 'sat'],
        week: null,
        until: '2026-05-31T22:00:00.000Z',
      },
      page_ids: [pageId],
      component_ids: [componentId],
    });
    const page = await session.get(location ?? '');
    expect(page.text).toContain('every 2 weeks on Wednesday and Saturday, by the clocks of Europe/Berlin');
    expect(page.text).toContain('Move &lt;b&gt;');
  });

  test('shows the messages of the API at their fields', async () => {
    const { status, text } = await session.send('/maintenance/new', '/maintenance/new', {
      ...WINDOW,
      ends_at: '2026-01-07T01:00',
      page_ids: pageId,
    });
    expect(status).toBe(422);
    expect(text).toContain('<a href="#field-ends_at">Ends</a> must be after starts_at');
    const other = await session.send('/maintenance/new', '/maintenance/new', {
      ...WINDOW,
      'repeat.frequency': 'monthly',
      'repeat.week': '1',
      page_ids: pageId,
    });
    expect(other.text).toContain('must have exactly one day, together with week');
    const zone = await session.send('/maintenance/new', '/maintenance/new', {
      ...WINDOW,
      time_zone: 'Mars/Base',
      page_ids: pageId,
    });
    expect(zone.text).toContain('is not a time zone that svc knows');
  });

  test.each([
    [
      'in the hour that clocks repeat',
      { starts_at: '2026-10-25T01:30:00Z', ends_at: '2026-10-25T03:00:00Z' },
    ],
    ['with seconds', { starts_at: '2026-01-07T01:00:07.125Z', ends_at: '2026-01-07T03:00:00Z' }],
    [
      'monthly on the last Friday',
      {
        starts_at: '2026-01-30T01:00:00Z',
        ends_at: '2026-01-30T03:00:00Z',
        repeat: { frequency: 'monthly', weekdays: ['fri'], week: -1, until: '2026-10-25T01:30:00Z' },
      },
    ],
  ])('leaves a window as it is that nobody has changed: %s', async (_name, times) => {
    const window = await made<WindowView>('/v1/maintenance-windows', {
      ...{ title: 'Kept', time_zone: 'Europe/Berlin', ...times },
      ...{ monitor_ids: monitorIds, page_ids: [pageId] },
    });
    const path = `/maintenance/${window.id}/edit`;
    expect((await session.send(path, path)).status).toBe(303);
    expect(await readOf(`/v1/maintenance-windows/${window.id}`)).toEqual(window);
  });

  test('changes times, and the repetition', async () => {
    const window = await made<WindowView>('/v1/maintenance-windows', { ...WINDOW, page_ids: [pageId] });
    const path = `/maintenance/${window.id}/edit`;
    const { status, location } = await session.send(path, path, {
      title: 'Moved',
      ends_at: '2026-01-07T05:00',
      'repeat.frequency': 'monthly',
      'repeat.weekdays': 'wed',
      'repeat.week': '1',
    });
    expect([status, location]).toEqual([303, `/maintenance/${window.id}`]);
    expect(await readOf(`/v1/maintenance-windows/${window.id}`)).toMatchObject({
      title: 'Moved',
      starts_at: '2026-01-07T01:00:00.000Z',
      ends_at: '2026-01-07T04:00:00.000Z',
      repeat: { frequency: 'monthly', interval: 1, weekdays: ['wed'], week: 1, until: null },
    });
    const once = await session.send(path, path, { 'repeat.frequency': 'once' });
    expect(once.status).toBe(303);
    expect(await readOf(`/v1/maintenance-windows/${window.id}`)).toMatchObject({ repeat: null });
  });

  test('does not overwrite the change of somebody else', async () => {
    const window = await made<WindowView>('/v1/maintenance-windows', { ...WINDOW, page_ids: [pageId] });
    const path = `/maintenance/${window.id}/edit`;
    const filled = await session.filled(path, path, { title: 'Mine' });
    await api.call('PUT', `/v1/maintenance-windows/${window.id}`, { ...window, title: 'Theirs' });
    const { status, text } = await session.post(path, filled);
    expect(status).toBe(412);
    expect(text).toContain('Somebody else changed this maintenance window');
    expect(text).toContain('Theirs');
    expect((await session.post(path, filledIn(text, path, {}))).status).toBe(303);
    expect(await readOf(`/v1/maintenance-windows/${window.id}`)).toMatchObject({ title: 'Mine' });
  });

  test('finds monitors by name and id among many, and keeps the chosen ones', async () => {
    const path = '/maintenance/new';
    const first = await session.get(path);
    expect(first.text).toContain('Only the chosen ones of 130 are listed.');
    const searched = await session.send(path, path, {
      ...WINDOW,
      'monitor_ids~find': 'server 12',
      intent: 'find monitor_ids',
    });
    expect(searched.text).toContain('10 of 130 match.');
    const chosen = [monitorIds[121] ?? '', monitorIds[125] ?? ''];
    const again = filledIn(searched.text, path, {
      ...{ monitor_ids: chosen, 'monitor_ids~find': monitorIds[7] ?? '', intent: 'find monitor_ids' },
    });
    const byId = await session.post(path, again);
    expect(byId.text).toContain('Server 007');
    expect(byId.text).toContain(`value="${chosen[0]}" checked`);
    const saved = await session.post(
      path,
      filledIn(byId.text, path, { monitor_ids: [...chosen, monitorIds[7] ?? ''] }),
    );
    expect(saved.status, saved.text).toBe(303);
    const window = await readOf<WindowView>(`/v1/maintenance-windows/${saved.location?.split('/').at(-1)}`);
    expect(window.monitor_ids).toEqual([monitorIds[7], ...chosen]);
  });
});

describe('the forms of an incident', () => {
  test('change its title, impact and pages', async () => {
    const incident = await made<IncidentView>('/v1/incidents', {
      ...{ title: 'Slow', impact: 'none', page_ids: [pageId], state: 'investigating', text: 'We look.' },
    });
    const path = `/incidents/${incident.id}/edit`;
    const { status, location } = await session.send(path, path, { title: 'Slow <i>', impact: 'degraded' });
    expect([status, location]).toEqual([303, `/incidents/${incident.id}`]);
    expect(await readOf(`/v1/incidents/${incident.id}`)).toMatchObject({
      title: 'Slow <i>',
      impact: 'degraded',
      page_ids: [pageId],
    });
    const refused = await session.send(path, path, { title: '' });
    expect(refused.text).toContain('must not be empty');
  });

  test('correct an update: its text, state, time and components', async () => {
    const incident = await made<IncidentView>('/v1/incidents', {
      ...{ title: 'Slow', page_ids: [pageId], state: 'investigating', text: 'We lok.' },
    });
    const before = incident.latest_update as UpdateView;
    const path = `/incidents/${incident.id}/updates/${before.id}`;
    const opened = await session.filled(path, path, {});
    expect((await session.post(path, opened)).status).toBe(303);
    expect(await readOf(`/v1${path}`)).toEqual(before);
    const { status, location } = await session.send(path, path, {
      ...{ text: 'We look.', state: 'identified', at: '2025-12-31T10:00', component_ids: componentId },
    });
    expect([status, location]).toEqual([303, `/incidents/${incident.id}`]);
    expect(await readOf(`/v1${path}`)).toMatchObject({
      text: 'We look.',
      state: 'identified',
      at: '2025-12-31T10:00:00.000Z',
      component_ids: [componentId],
    });
    const shown = await session.get(`/incidents/${incident.id}`);
    expect(shown.text).toContain('Affects Server 003 (Status)');
    const refused = await session.send(path, path, { text: ' ' });
    expect(refused.text).toContain('must not be empty');
  });

  test('name the monitor of an incident at any place in the list', async () => {
    const last = monitorIds.at(-1) ?? '';
    await api.store.transaction((tx) =>
      tx.runEach('INSERT INTO incidents (monitor_id, workspace_id, key, opened_at) VALUES (?, ?, ?, ?)', [
        [Number(last), api.workspaceId, 'key-1', 1_000],
      ]),
    );
    expect((await session.get('/incidents')).text).toContain('Server 129');
  });
});
