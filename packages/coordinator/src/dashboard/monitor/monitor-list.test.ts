import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';
import { DashboardSession } from '../../../../../test/support/dashboard/session.ts';
import { addRows } from '../../../../../test/support/store-rows.ts';

let api: RunningApi;
let session: DashboardSession;
let [held, other] = ['', ''];

beforeAll(async () => {
  api = await startApi();
  const made = async (path: string, body: object) =>
    ((await api.call('POST', path, body)).body as { id: string }).id;
  const monitor = { type: 'tcp', uri: 'mail.example:25', periodicity: '1m', active: true };
  held = await made('/v1/monitors', { ...monitor, name: 'Held <b>' });
  other = await made('/v1/monitors', { ...monitor, name: 'Other' });
  // The test clock starts at the beginning of 2026.
  await made('/v1/maintenance-windows', {
    ...{ title: 'Move <i>', starts_at: '2025-12-31T23:00:00Z', ends_at: '2026-01-01T01:00:00Z' },
    monitor_ids: [held],
  });
  await made('/v1/maintenance-windows', {
    ...{ title: 'Later', starts_at: '2026-01-05T10:00:00Z', ends_at: '2026-01-05T11:00:00Z' },
    monitor_ids: [held, other],
  });
  session = await DashboardSession.open(api);
});
afterAll(() => api.dispose());

test('the list shows which monitors are under maintenance, and can be filtered by it', async () => {
  const { text } = await session.get('/');
  expect(text).toMatch(/Under maintenance <span class="count">1</);
  expect(text.match(/svg>Maintenance</g)).toHaveLength(1);
  const filtered = await session.get('/?maintenance=true&state=unknown');
  expect(filtered.text).toContain('Held &lt;b&gt;');
  expect(filtered.text).not.toContain('>Other<');
  expect(filtered.text).toContain('href="/?state=unknown"');
  const none = await session.get('/?maintenance=true&name=other');
  expect(none.text).toContain('No monitor matches');
});

test('the list can be filtered by mutes and acknowledgements, together with a state and each other', async () => {
  const monitor = { type: 'tcp', uri: 'db.example:5432', periodicity: '1m', active: true };
  const id = await api.create('/v1/monitors', { ...monitor, name: 'Looked after' });
  const before = await session.get('/');
  expect(before.text).not.toContain('id="mark-muted"');
  expect(before.text).not.toContain('id="mark-acknowledged"');
  await api.call('POST', `/v1/monitors/${id}/mute`, { until: '2026-01-01T04:00:00Z' });
  await addRows(api.store, 'incidents', {
    ...{ key: 'open', workspace_id: api.workspaceId, monitor_id: Number(id), opened_at: 1, title: null },
    ...{ acknowledged_at: 2, acknowledged_by: 'somebody' },
  });
  const { text } = await session.get('/?state=unknown&muted=true');
  expect(text).toContain('Looked after');
  expect(text).not.toContain('>Other<');
  expect(text).toMatch(
    /id="mark-muted" href="\/\?state=unknown" aria-current="true">.*Muted <span class="count">1</,
  );
  expect(text).toContain('href="/?state=unknown&amp;muted=true&amp;acknowledged=true"');
  const both = await session.get('/?muted=true&acknowledged=true');
  expect(both.text).toContain('Looked after');
  const none = await session.get('/?acknowledged=true&maintenance=true&sort=name');
  expect(none.text).toContain('No monitor matches all these filters.');
  expect(none.text).toContain('<a href="/?sort=name">Show all monitors</a>');
  await api.call('DELETE', `/v1/monitors/${id}`);
});

test('the page of a monitor says which window holds its alerts, until when, and what comes next', async () => {
  const { text } = await session.get(`/monitors/${held}`);
  expect(text).toContain('Under maintenance</span> by <a href="/maintenance/1">Move &lt;i&gt;</a> until');
  expect(text).toContain('Until then alerts are held');
  expect(text).toContain('Next maintenance: <a href="/maintenance/2">Later</a>');
  const free = await session.get(`/monitors/${other}`);
  expect(free.text).not.toContain('Until then alerts are held');
});

test('the page of a monitor says who is alerted; nobody until a channel is linked, which is one form away', async () => {
  const monitor = { type: 'tcp', uri: 'db.example:5432', periodicity: '1m', active: true };
  const id = await api.create('/v1/monitors', { ...monitor, name: 'Alone' });
  const endpoint = 'https://hooks.example/secret-path';
  const hook = { name: 'Hook <b>', provider_type: 'webhook', webhook: { endpoint }, monitor_ids: [held] };
  const channel = await api.create('/v1/notifications', hook);
  const alone = await session.get(`/monitors/${id}`);
  expect(alone.text).toContain('Nobody: no channel is linked to this monitor');
  expect(alone.text).toContain(`href="/channels/${channel}/edit?monitor=${id}">Alert Hook &lt;b&gt;</a>`);
  expect(alone.text).toContain(`href="/channels/new?monitor=${id}"`);

  const kinds = await session.get(`/channels/new?monitor=${id}`);
  expect(kinds.text).toContain(`href="/channels/new?type=webhook&amp;monitor=${id}"`);
  const create = '/channels/new?type=webhook';
  const made = await session.filled(`${create}&monitor=${id}`, create, {});
  expect(made.getAll('monitor_ids')).toEqual([id]);
  const [page, edit] = [`/channels/${channel}/edit?monitor=${id}`, `/channels/${channel}/edit`];
  const edited = await session.filled(page, edit, {});
  expect(edited.getAll('monitor_ids').toSorted()).toEqual([held, id].toSorted());
  expect(await session.post(edit, edited)).toMatchObject({ status: 303, location: `/channels/${channel}` });
  const told = await session.get(`/monitors/${id}`);
  expect(told.text).toMatch(
    new RegExp(`<a href="/channels/${channel}">Hook &lt;b&gt;</a> <span[^>]*operational`),
  );
  expect(told.text).not.toContain('Nobody:');
});

test('a channel whose alerts are not delivered is named on the list of monitors, and its page shows where it posts', async () => {
  const path = (name: string) => ({
    name,
    provider_type: 'chat_b',
    chat_b: { webhook_url: 'https://hooks.slack.com/services/secret' },
  });
  const id = await api.create('/v1/notifications', path('Chat <b>'));
  expect((await session.get('/')).text).not.toContain('Alerts are not delivered');
  await api.store.transaction(async ({ db }) => {
    const failing = { state: 'failing', state_reason: 'the answer was 500' } as const;
    await db.updateTable('notifications').set(failing).where('id', '=', Number(id)).execute();
  });
  expect((await session.get('/')).text).toContain(
    `<li><a href="/channels/${id}">Chat &lt;b&gt;</a>: the answer was 500</li>`,
  );
  const { text } = await session.get(`/channels/${id}`);
  expect(text).toContain('<dd>https://hooks.slack.com/********</dd>');
  expect(text).not.toContain('services/secret');
});

test('the list, the page and the warnings of a monitor show its notices while they last', async () => {
  const monitor = { type: 'tcp', uri: 'db.example:5432', periodicity: '1m', active: true };
  const id = await api.create('/v1/monitors', { ...monitor, name: 'Partly' });
  await api.store.transaction((tx) =>
    tx.runEach('INSERT INTO monitor_notices (monitor_id, region, since, key, told) VALUES (?, ?, ?, ?, ?)', [
      [Number(id), 'hosta-fra', Date.UTC(2025, 11, 31, 23), 'key 1', '[]'],
      [Number(id), '', Date.UTC(2025, 11, 31, 22), 'key 2', '[]'],
    ]),
  );
  const warnings = [
    'it has had no data since 2025-12-31 22:00:00 UTC',
    'region hosta-fra alone has failed since 2025-12-31 23:00:00 UTC',
  ];
  expect((await api.call('GET', `/v1/monitors/${id}`)).body).toMatchObject({ warnings });
  expect((await api.call('GET', `/v1/monitor-states?ids=${id}`)).body).toMatchObject({
    data: [{ failing_alone: [{ region: 'hosta-fra', since: Date.UTC(2025, 11, 31, 23) }] }],
  });
  const page = await session.get(`/monitors/${id}`);
  expect(page.text).toMatch(
    /notice-warning">It has had no data since <time datetime="2025-12-31T22:00:00.000Z"/,
  );
  expect(page.text).toMatch(
    /Region hosta-fra alone has failed since <time [^>]+>31 Dec 2025, 23:00 UTC<\/time>\./,
  );
  expect((await session.get('/?name=partly')).text).toMatch(
    /hosta-fra fails alone, first seen <time [^>]+>1 hour ago</,
  );
});
