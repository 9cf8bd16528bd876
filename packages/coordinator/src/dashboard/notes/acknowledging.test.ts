import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';
import { DashboardSession } from '../../../../../test/support/dashboard/session.ts';
import { addRows } from '../../../../../test/support/store-rows.ts';

let api: RunningApi;
let session: DashboardSession;
let monitorId: string;
let incidentId: string;
let incidents = 0;

beforeAll(async () => {
  api = await startApi();
  session = await DashboardSession.open(api);
});
afterAll(() => api.dispose());

beforeEach(async () => {
  const monitor = { type: 'tcp', name: 'Mail', uri: 'mail.example:25', periodicity: '1m' };
  monitorId = await api.create('/v1/monitors', monitor);
  incidentId = await openIncident();
});

async function openIncident(): Promise<string> {
  incidents += 1;
  const key = `incident-${incidents}`;
  const opened = { opened_at: 1_000, closed_at: null };
  await addRows(api.store, 'incidents', { key, workspace_id: 1, monitor_id: Number(monitorId), ...opened });
  const { data } = (await api.call('GET', `/v1/incidents?monitor_id=${monitorId}&limit=1`)).body as {
    data: { id: string }[];
  };
  return data[0]?.id ?? '';
}

const acknowledgement = async () =>
  ((await api.call('GET', `/v1/incidents/${incidentId}`)).body as { acknowledgement: object | null })
    .acknowledgement;

test('the link of an alert leads to the newest incident, over the login, and a GET changes nothing', async () => {
  const path = `/monitors/${monitorId}/incident`;
  const visitor = await fetch(`${api.url}${path}`, { redirect: 'manual', headers: { accept: 'text/html' } });
  expect(visitor.headers.get('location')).toBe(`/login?next=${encodeURIComponent(path)}`);
  expect(await session.get(path)).toMatchObject({ status: 303, location: `/incidents/${incidentId}` });
  const newer = await openIncident();
  expect(await session.get(path)).toMatchObject({ location: `/incidents/${newer}` });
  expect(await acknowledgement()).toBeNull();
  expect((await session.get(`/incidents/${incidentId}/acknowledge`)).status).toBe(405);
});

test('the link of a monitor without an incident leads to the monitor', async () => {
  await api.store.transaction(({ db }) => db.deleteFrom('incidents').execute());
  const opened = await session.get(`/monitors/${monitorId}/incident`);
  expect(opened).toMatchObject({ status: 303, location: `/monitors/${monitorId}` });
});

test('an incident is acknowledged with a word; its page, that of the monitor and the list say who', async () => {
  const page = `/incidents/${incidentId}`;
  expect((await session.get(`/monitors/${monitorId}`)).text).toContain('Nobody has acknowledged it.');
  const sent = await session.send(page, `${page}/acknowledge`, { note: 'The disk is full.' });
  expect(sent).toMatchObject({ status: 303, location: page });
  expect(await acknowledgement()).toMatchObject({ note: 'The disk is full.' });
  for (const path of [page, `/monitors/${monitorId}`])
    expect((await session.get(path)).text).toContain('The disk is full.');
  for (const path of ['/', '/incidents'])
    expect((await session.get(path)).text).toContain('Acknowledged</span>');

  await session.send(page, `${page}/unacknowledge`);
  expect(await acknowledgement()).toBeNull();
});

test('whoever acknowledges second is told who was first', async () => {
  const made = await api.call('POST', '/v1/tokens', { name: 'Ada', scope: 'write' });
  const { token } = made.body as { token: string };
  const page = `/incidents/${incidentId}`;
  const form = await session.filled(page, `${page}/acknowledge`, { note: 'Me too.' });
  await api.call('POST', `/v1${page}/acknowledge`, {}, { authorization: `Bearer ${token}` });
  const { notice } = await session.post(`${page}/acknowledge`, form);
  expect(notice).toBe('The incident is acknowledged by Ada.');
});

test('a session that may only read sees who looks after it, and has no button', async () => {
  await api.call('POST', `/v1/incidents/${incidentId}/acknowledge`, { note: 'Seen.' });
  const made = await api.call('POST', '/v1/tokens', { name: 'reader', scope: 'read' });
  const { token } = made.body as { token: string };
  const reader = await DashboardSession.open(api, { authorization: `Bearer ${token}` });
  const { text } = await reader.get(`/incidents/${incidentId}`);
  expect(text).toContain('Seen.');
  expect(text).not.toContain('acknowledge"');
});

test('the ticked monitors of the list are acknowledged together; one without an incident stays as it is', async () => {
  const monitor = { type: 'tcp', name: 'Web', uri: 'web.example:80', periodicity: '1m' };
  const other = await api.create('/v1/monitors', monitor);
  await session.send('/', '/monitors/selected', { monitor: [monitorId, other], action: 'acknowledge' });
  expect(await acknowledgement()).toMatchObject({ note: null });
});
