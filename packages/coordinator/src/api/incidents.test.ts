import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { declareShop } from '../../../../test/support/shop.ts';
import { addRows } from '../../../../test/support/store-rows.ts';
import { updatesAfter } from '../store/incidents/incidents.ts';
import type { IncidentView, UpdateView } from './routes/incidents.ts';

const PATH = '/v1/incidents';

let api: RunningApi;
let monitorId: string;
let pageId: string;
let otherPageId: string;
let componentId: string;

beforeAll(async () => {
  api = await startApi();
  ({ monitorId, pageId, componentId } = await declareShop(api));
  otherPageId = await api.create('/v1/status-pages', { title: 'Other', slug: 'other' });
});
afterAll(() => api.dispose());

const FIRST = { title: 'Payments fail', state: 'investigating', text: 'We are looking into it.' };

async function write(more: object = {}): Promise<IncidentView> {
  const { status, body } = await api.call('POST', PATH, { ...FIRST, page_ids: [pageId], ...more });
  expect(status, JSON.stringify(body)).toBe(201);
  return body as IncidentView;
}

async function tell(incidentId: string, body: object): Promise<UpdateView> {
  const answer = await api.call('POST', `${PATH}/${incidentId}/updates`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body as UpdateView;
}

const read = async (id: string) => (await api.call('GET', `${PATH}/${id}`)).body as IncidentView;

/** Adds an incident as if a monitor had recorded it. Returns its id. */
async function recorded(key: string, closedAt: number | null = null): Promise<string> {
  await addRows(api.store, 'incidents', {
    key,
    workspace_id: 1,
    monitor_id: Number(monitorId),
    opened_at: api.clock.wall(),
    closed_at: closedAt,
    closure: null,
  });
  const row = await api.store.read
    .selectFrom('incidents')
    .select('id')
    .where('key', '=', key)
    .executeTakeFirst();
  return String(row?.id);
}

describe('an incident that people write', () => {
  test('is created with its first update, followed, resolved, opened again and removed', async () => {
    const made = await write({ impact: 'partial_outage', component_ids: [componentId] });
    expect(made).toMatchObject({
      origin: 'operator',
      key: null,
      monitor_id: null,
      title: 'Payments fail',
      impact: 'partial_outage',
      state: 'investigating',
      resolved_at: null,
      page_ids: [pageId],
      latest_update: { text: 'We are looking into it.', component_ids: [componentId] },
    });
    api.clock.advance(60_000);
    await tell(made.id, { state: 'monitoring', text: 'It is repaired.' });
    expect(await read(made.id)).toMatchObject({ state: 'monitoring', resolved_at: null });
    const done = await tell(made.id, { state: 'resolved', text: 'It works.' });
    expect(await read(made.id)).toMatchObject({ state: 'resolved', resolved_at: done.at });
    expect((await api.call('GET', `${PATH}?state=resolved`)).body).toMatchObject({ data: [{ id: made.id }] });
    expect((await api.call('DELETE', `${PATH}/${made.id}/updates/${done.id}`)).status).toBe(204);
    expect(await read(made.id)).toMatchObject({ state: 'monitoring', resolved_at: null });
    expect((await api.call('DELETE', `${PATH}/${made.id}`)).status).toBe(204);
    expect((await api.call('GET', `${PATH}/${made.id}`)).status).toBe(404);
    expect((await api.call('GET', `${PATH}/${made.id}/updates`)).status).toBe(404);
  });

  test('has its updates in the order of their times, newest first, page by page', async () => {
    api.clock.advance(3_600_000);
    const { id } = await write();
    const earlier = new Date(api.clock.wall() - 1_800_000).toISOString();
    await tell(id, { state: 'identified', text: 'later written, earlier', at: earlier });
    await tell(id, { state: 'monitoring', text: 'now' });
    const texts: string[] = [];
    let cursor = '';
    do {
      const { body } = await api.call('GET', `${PATH}/${id}/updates?limit=1${cursor}`);
      const page = body as { data: UpdateView[]; next_cursor: string | null };
      texts.push(...page.data.map(({ text }) => text));
      cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
    } while (cursor !== '');
    expect(texts).toEqual(['now', 'We are looking into it.', 'later written, earlier']);
    expect(await read(id)).toMatchObject({ state: 'monitoring' });
  });

  test('can be replaced, except its history', async () => {
    const made = await write();
    const path = `${PATH}/${made.id}`;
    const etag = (await api.call('GET', path)).headers.get('etag') ?? '';
    const put = await api.call('PUT', path, { ...made, title: 'Cards fail', page_ids: [otherPageId] });
    expect(put).toMatchObject({ status: 200, body: { title: 'Cards fail', page_ids: [otherPageId] } });
    expect((await api.call('PUT', path, made, { 'if-match': etag })).status).toBe(412);
    const nowhere = await api.call('PUT', path, { title: 'Cards fail', page_ids: [] });
    expect(nowhere).toMatchObject({ status: 422, body: { errors: [{ pointer: '/page_ids' }] } });
    const nameless = await api.call('PUT', path, { page_ids: [pageId] });
    expect(nameless).toMatchObject({ status: 422, body: { errors: [{ pointer: '/title' }] } });
  });

  test('has updates that keep their time when they are corrected', async () => {
    const { id, latest_update: first } = await write({ component_ids: [componentId] });
    api.clock.advance(60_000);
    const path = `${PATH}/${id}/updates/${first?.id}`;
    const put = await api.call('PUT', path, { state: 'identified', text: 'Better.' });
    expect(put).toMatchObject({ status: 200, body: { text: 'Better.', at: first?.at, component_ids: [] } });
  });

  test.each<[string, object, number, string]>([
    ['a page of nobody', { page_ids: ['999'] }, 404, '/page_ids/0'],
    ['no page', { page_ids: [] }, 422, '/page_ids'],
    ['an unknown component', { component_ids: ['999'] }, 404, '/component_ids/0'],
    ['no text', { text: ' ' }, 422, '/text'],
    ['a text with NUL', { text: 'a\u0000b' }, 422, '/text'],
    ['a text that turns around', { text: 'a\u202eb' }, 422, '/text'],
    ['no state', { state: undefined }, 422, '/state'],
    ['an unknown state', { state: 'over' }, 422, '/state'],
    ['the future', { at: '2031-01-01T00:00:00Z' }, 422, '/at'],
    ['a title of two lines', { title: 'a\nb' }, 422, '/title'],
    ['a member that is not there', { colour: 'red' }, 422, '/colour'],
  ])('%s is refused', async (_, more, status, pointer) => {
    const answer = await api.call('POST', PATH, { ...FIRST, page_ids: [pageId], ...more });
    expect(answer).toMatchObject({ status, body: { errors: [{ pointer }] } });
  });

  test('names only components of its pages', async () => {
    const answer = await api.call('POST', PATH, {
      ...FIRST,
      page_ids: [otherPageId],
      component_ids: [componentId],
    });
    expect(answer).toMatchObject({ status: 404, body: { errors: [{ pointer: '/component_ids/0' }] } });
  });
});

describe('an incident of a monitor', () => {
  test('is listed with its key, and is resolved by the recovery', async () => {
    const id = await recorded('a:1:1');
    expect(await read(id)).toMatchObject({
      origin: 'monitor',
      key: 'a:1:1',
      monitor_id: monitorId,
      title: null,
      state: 'investigating',
      latest_update: null,
    });
    await tell(id, { state: 'resolved', text: 'It works for us.' });
    expect(await read(id)).toMatchObject({ state: 'resolved', resolved_at: null });
    const listed = await api.call('GET', `${PATH}?page_id=${pageId}&monitor_id=${monitorId}&state=open`);
    expect(listed.body).toMatchObject({ data: [{ id }] });
    expect(
      (await api.call('GET', `${PATH}?page_id=${otherPageId}&monitor_id=${monitorId}`)).body,
    ).toMatchObject({
      data: [],
    });
    const over = await recorded('a:1:2', api.clock.wall());
    expect(await read(over)).toMatchObject({ state: 'resolved', latest_update: null });
  });

  test('may get a title and pages, and cannot be removed', async () => {
    const id = await recorded('a:1:3');
    const put = await api.call('PUT', `${PATH}/${id}`, {
      title: 'The shop is down',
      page_ids: [otherPageId],
    });
    expect(put).toMatchObject({ status: 200, body: { title: 'The shop is down', page_ids: [otherPageId] } });
    const refused = await api.call('DELETE', `${PATH}/${id}`);
    expect(refused).toMatchObject({ status: 409 });
  });
});

test('each published update is a durable event, in the order of the commits', async () => {
  const last = (await updatesAfter(api.store, 0, 1_000)).at(-1)?.update.id ?? 0;
  const { id, latest_update: first } = await write();
  const second = await tell(id, { state: 'identified', text: 'Found.' });
  await api.call('PUT', `${PATH}/${id}/updates/${second.id}`, { state: 'identified', text: 'Found it.' });
  const events = await updatesAfter(api.store, last, 10);
  expect(events.map(({ update, incident }) => [String(update.id), update.text, incident.pageIds])).toEqual([
    [first?.id, 'We are looking into it.', [Number(pageId)]],
    [second.id, 'Found it.', [Number(pageId)]],
  ]);
});

test('another workspace sees nothing of it', async () => {
  const { id, latest_update: update } = await write();
  const other = await api.call('POST', '/v1/workspaces', { name: 'Other' });
  const workspace_id = (other.body as { id: string }).id;
  const token = await api.call('POST', '/v1/tokens', { name: 'other', scope: 'write', workspace_id });
  const headers = { authorization: `Bearer ${(token.body as { token: string }).token}` };
  const body = { state: 'resolved', text: 'Nothing to see.' };
  for (const [method, path, sent] of [
    ['GET', `${PATH}/${id}`, undefined],
    ['DELETE', `${PATH}/${id}`, undefined],
    ['PUT', `${PATH}/${id}`, { title: 'x', page_ids: [pageId] }],
    ['GET', `${PATH}/${id}/updates`, undefined],
    ['POST', `${PATH}/${id}/updates`, body],
    ['PUT', `${PATH}/${id}/updates/${update?.id}`, body],
    ['DELETE', `${PATH}/${id}/updates/${update?.id}`, undefined],
  ] as const) {
    expect([method, path, (await api.call(method, path, sent, headers)).status]).toEqual([method, path, 404]);
  }
  expect((await api.call('GET', PATH, undefined, headers)).body).toEqual({ data: [], next_cursor: null });
  expect((await api.call('POST', PATH, { ...FIRST, page_ids: [pageId] }, headers)).status).toBe(404);
});

describe('an acknowledgement', () => {
  test('says who, when, and a word; the first one stays until it is taken back', async () => {
    const id = await recorded('acknowledged');
    expect((await read(id)).acknowledgement).toBeNull();
    const path = `${PATH}/${id}/acknowledge`;
    const first = await api.call('POST', path, { note: 'The disk is full.' });
    const acknowledgement = { note: 'The disk is full.', by: expect.any(String), at: expect.any(String) };
    expect(first).toMatchObject({ status: 200, body: { id, acknowledgement } });
    expect(await api.call('POST', path, {})).toMatchObject({ status: 200, body: { acknowledgement } });
    const taken = await api.call('POST', `${PATH}/${id}/unacknowledge`);
    expect(taken).toMatchObject({ status: 200, body: { acknowledgement: null } });
    expect(await api.call('POST', path, {})).toMatchObject({ body: { acknowledgement: { note: null } } });
  });

  test('names the token', async () => {
    const id = await recorded('named');
    const { body } = await api.call('POST', '/v1/tokens', { name: 'Ada', scope: 'write' });
    const authorization = `Bearer ${(body as { token: string }).token}`;
    await api.call('POST', `${PATH}/${id}/acknowledge`, {}, { authorization });
    expect((await read(id)).acknowledgement).toMatchObject({ by: 'Ada' });
  });

  test('ends with the incident', async () => {
    const id = await recorded('over', 2_000);
    for (const action of ['acknowledge', 'unacknowledge']) {
      const refused = await api.call(
        'POST',
        `${PATH}/${id}/${action}`,
        action === 'acknowledge' ? {} : undefined,
      );
      expect(refused).toMatchObject({ status: 409, body: { detail: `incident ${id} has ended` } });
    }
  });

  test('is in the overview of monitors while the incident is open', async () => {
    const id = await recorded('listed');
    await api.call('POST', `${PATH}/${id}/acknowledge`, {});
    const { body } = await api.call('GET', `/v1/monitor-states?ids=${monitorId}`);
    expect((body as { data: { acknowledgement: { incident_id: string } | null }[] }).data[0]).toMatchObject({
      acknowledgement: { incident_id: expect.any(String) },
    });
  });
});
