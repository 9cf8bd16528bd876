import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { declareShop } from '../../../../test/support/shop.ts';
import { windowsOfUnknownZones } from '../store/incidents/maintenance-windows.ts';
import type { WindowView } from './routes/maintenance.ts';

const PATH = '/v1/maintenance-windows';

let api: RunningApi;
let monitorId: string;
let componentId: string;

beforeAll(async () => {
  api = await startApi();
  ({ monitorId, componentId } = await declareShop(api));
});
afterAll(() => api.dispose());

// The fake clock shows the beginning of 2026, so this window is in the future.
const WINDOW = { title: 'Update', starts_at: '2026-01-02T02:00:00Z', ends_at: '2026-01-02T04:00:00Z' };

async function create(more: object = {}): Promise<WindowView> {
  const { status, body } = await api.call('POST', PATH, { ...WINDOW, monitor_ids: [monitorId], ...more });
  expect(status, JSON.stringify(body)).toBe(201);
  return body as WindowView;
}

describe('a maintenance window', () => {
  test('is created, read, listed, replaced and removed', async () => {
    const made = await create({ text: 'Orders may be slow.' });
    expect(made).toMatchObject({
      ...WINDOW,
      starts_at: '2026-01-02T02:00:00.000Z',
      ends_at: '2026-01-02T04:00:00.000Z',
      text: 'Orders may be slow.',
      time_zone: 'UTC',
      repeat: null,
      monitor_ids: [monitorId],
      page_ids: [],
      component_ids: [],
      state: 'planned',
      occurrence: { starts_at: '2026-01-02T02:00:00.000Z', ends_at: '2026-01-02T04:00:00.000Z' },
      ended_at: null,
      warnings: [],
    });
    const path = `${PATH}/${made.id}`;
    const read = await api.call('GET', path);
    expect(read.body).toEqual(made);
    // The API accepts the body of its answer as the body of a request.
    const put = await api.call(
      'PUT',
      path,
      { ...made, title: 'Another' },
      { 'if-match': read.headers.get('etag') ?? '' },
    );
    expect(put).toMatchObject({ status: 200, body: { title: 'Another' } });
    const stale = await api.call('PUT', path, made, { 'if-match': read.headers.get('etag') ?? '' });
    expect(stale.status).toBe(412);
    const list = await api.call('GET', `${PATH}?monitor_id=${monitorId}&state=planned`);
    expect(list.body).toMatchObject({ total: 1, data: [{ id: made.id }] });
    expect((await api.call('GET', `${PATH}?state=active`)).body).toMatchObject({ total: 0 });
    expect((await api.call('DELETE', path)).status).toBe(204);
    expect((await api.call('GET', path)).status).toBe(404);
  });

  test('takes local times of its zone, and repeats in local time', async () => {
    const made = await create({
      starts_at: '2026-03-25T02:00',
      ends_at: '2026-03-25T04:00',
      time_zone: 'Europe/Berlin',
      repeat: { frequency: 'weekly' },
    });
    expect(made).toMatchObject({
      starts_at: '2026-03-25T01:00:00.000Z',
      repeat: { frequency: 'weekly', interval: 1, weekdays: ['wed'], week: null, until: null },
    });
  });

  test('that an operator ends is over, and keeps its past', async () => {
    const { id } = await create({
      starts_at: '2025-12-31T23:00:00Z',
      repeat: { frequency: 'daily', interval: 7 },
    });
    expect((await api.call('GET', `${PATH}/${id}`)).body).toMatchObject({ state: 'active' });
    const ended = await api.call('POST', `${PATH}/${id}/end`);
    expect(ended).toMatchObject({
      status: 200,
      body: { state: 'ended', occurrence: null, ended_at: '2026-01-01T00:00:00.000Z' },
    });
    const lines = await api.call('GET', `/v1/audit?object=maintenance-windows/${id}`);
    expect((lines.body as { data: { action: string }[] }).data.map(({ action }) => action)).toEqual([
      'end',
      'create',
    ]);
  });

  test('whose zone is unknown by now warns that its times are taken as UTC, until it is saved again', async () => {
    const { id } = await create();
    await api.store.transaction((tx) =>
      tx.runEach('UPDATE maintenance_windows SET time_zone = ? WHERE id = ?', [['Mars/Base', Number(id)]]),
    );
    const { body } = await api.call('GET', `${PATH}/${id}`);
    expect(body).toMatchObject({
      time_zone: 'UTC',
      warnings: ['its time zone Mars/Base is unknown to this version of svc: its times are taken as UTC'],
    });
    expect(await windowsOfUnknownZones(api.store)).toEqual([{ id: Number(id), timeZone: 'Mars/Base' }]);
    expect(await api.call('PUT', `${PATH}/${id}`, body)).toMatchObject({
      status: 200,
      body: { warnings: [] },
    });
  });

  test('has svc’s own messages for every invalid body', async () => {
    const wrong = [
      ...[null, [], 'x', { title: 5 }, { ...WINDOW, monitor_ids: 'x' }, { ...WINDOW, monitor_ids: ['a', 5] }],
      ...[
        { ...WINDOW, repeat: 'x' },
        { ...WINDOW, repeat: { frequency: 'daily', interval: 'x' } },
      ],
      { ...WINDOW, repeat: { frequency: 'weekly', weekdays: Array(8).fill('mon') } },
      { ...WINDOW, page_ids: Array.from({ length: 2_001 }, (_, index) => String(index + 1)) },
    ];
    const incident = { title: 'x', page_ids: [5], state: 'x', text: 5, at: 'now' };
    const answers = [
      ...(await Promise.all(wrong.map((body) => api.call('POST', PATH, body)))),
      ...(await Promise.all(
        [null, incident, { ...incident, page_ids: 'x' }].map((body) =>
          api.call('POST', '/v1/incidents', body),
        ),
      )),
      ...(await Promise.all(
        ['x', { days: 'x', regions: 'x' }].map((body) =>
          api.call('POST', `/v1/monitors/${monitorId}/what-if`, body),
        ),
      )),
    ];
    for (const { status, body } of answers) {
      expect([400, 422], JSON.stringify(body)).toContain(status);
      expect(JSON.stringify(body)).not.toMatch(/Invalid|Too (big|small)|Unrecognized|expected/);
    }
  });

  test('is created once for an Idempotency-Key', async () => {
    const body = { ...WINDOW, monitor_ids: [monitorId] };
    const once = await api.call('POST', PATH, body, { 'idempotency-key': 'w1' });
    const again = await api.call('POST', PATH, body, { 'idempotency-key': 'w1' });
    expect(again.body).toEqual(once.body);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  test('warns of a component whose monitor it does not hold', async () => {
    const { warnings } = await create({ monitor_ids: [], component_ids: [componentId] });
    expect(warnings).toEqual([
      `component ${componentId} shows monitor ${monitorId}, which is not among monitor_ids: its alerts are not held, and its uptime counts`,
    ]);
    expect((await create({ component_ids: [componentId] })).warnings).toEqual([]);
  });

  test('of another workspace is not found, and neither are its objects', async () => {
    const { id } = await create();
    const other = await api.call('POST', '/v1/workspaces', { name: 'Other' });
    const workspace_id = (other.body as { id: string }).id;
    const token = await api.call('POST', '/v1/tokens', { name: 'other', scope: 'write', workspace_id });
    const headers = { authorization: `Bearer ${(token.body as { token: string }).token}` };
    expect((await api.call('GET', `${PATH}/${id}`, undefined, headers)).status).toBe(404);
    expect((await api.call('DELETE', `${PATH}/${id}`, undefined, headers)).status).toBe(404);
    expect((await api.call('POST', `${PATH}/${id}/end`, undefined, headers)).status).toBe(404);
    expect((await api.call('GET', PATH, undefined, headers)).body).toMatchObject({ total: 0 });
    const foreign = await api.call('POST', PATH, { ...WINDOW, monitor_ids: [monitorId] }, headers);
    expect(foreign).toMatchObject({ status: 404, body: { errors: [{ pointer: '/monitor_ids/0' }] } });
  });

  test('cannot be written with a read token', async () => {
    const headers = { authorization: `Bearer ${api.reader}` };
    expect((await api.call('POST', PATH, WINDOW, headers)).status).toBe(403);
    expect((await api.call('GET', PATH, undefined, headers)).status).toBe(200);
  });

  test('loses a removed monitor', async () => {
    const made = await api.call('POST', '/v1/monitors', {
      type: 'http',
      name: 'Gone',
      url: 'https://gone.example/',
      periodicity: '1m',
    });
    const gone = (made.body as { id: string }).id;
    const { id } = await create({ monitor_ids: [monitorId, gone] });
    expect((await api.call('DELETE', `/v1/monitors/${gone}`)).status).toBe(204);
    expect((await api.call('GET', `${PATH}/${id}`)).body).toMatchObject({ monitor_ids: [monitorId] });
  });
});

test.each<[string, object, string, string]>([
  ['a text with NUL', { text: 'a\u0000b' }, '/text', 'must be lines without control characters'],
  [
    'a text that turns around',
    { text: 'a\n\u202eb' },
    '/text',
    'must not contain characters that change the direction of the text',
  ],
  ['an end before the begin', { ends_at: '2026-01-02T01:00:00Z' }, '/ends_at', 'must be after starts_at'],
  [
    'a month and a day',
    { ends_at: '2026-02-03T02:00:00Z' },
    '/ends_at',
    'may be at most 31 days after starts_at',
  ],
  [
    'a begin without a time',
    { starts_at: '2026-01-02' },
    '/starts_at',
    'must be an instant as in 2027-01-01T02:00:00Z, or a local time of time_zone as in 2027-01-01T02:00',
  ],
  [
    'an unknown zone',
    { time_zone: 'Mars/Olympus' },
    '/time_zone',
    'is not a time zone that svc knows: use a name as Europe/Berlin, or UTC',
  ],
  [
    'nothing to maintain',
    { monitor_ids: [] },
    '/monitor_ids',
    'the window needs a monitor, a page or a component',
  ],
  [
    'a weekday that is not the first',
    { repeat: { frequency: 'weekly', weekdays: ['mon'] } },
    '/repeat/weekdays',
    'must contain the day of starts_at, a fri in UTC',
  ],
  [
    'a week that is not the first',
    { repeat: { frequency: 'monthly', week: 2, weekdays: ['fri'] } },
    '/repeat/week',
    'must contain the day of starts_at, a fri in UTC',
  ],
  [
    'weekdays of a day',
    { repeat: { frequency: 'daily', weekdays: ['fri'] } },
    '/repeat/weekdays',
    'are for weekly and monthly only',
  ],
  ['a week of a week', { repeat: { frequency: 'weekly', week: 1 } }, '/repeat/week', 'is for monthly only'],
  [
    'a repetition that overlaps itself',
    { ends_at: '2026-01-03T03:00:00Z', repeat: { frequency: 'daily' } },
    '/repeat',
    'begins again before it has ended',
  ],
  [
    'a repetition that is over before it begins',
    { repeat: { frequency: 'daily', until: '2026-01-01T00:00:00Z' } },
    '/repeat/until',
    'must not be before starts_at',
  ],
  [
    'an interval of nothing',
    { repeat: { frequency: 'daily', interval: 0 } },
    '/repeat/interval',
    'must be at least 1',
  ],
  ['a title of two lines', { title: 'a\nb' }, '/title', 'must be one line without control characters'],
])('%s is refused', async (_, more, pointer, message) => {
  const { status, body } = await api.call('POST', PATH, { ...WINDOW, monitor_ids: [monitorId], ...more });
  expect(status).toBe(422);
  expect((body as { errors: object[] }).errors).toContainEqual({ pointer, message });
});
