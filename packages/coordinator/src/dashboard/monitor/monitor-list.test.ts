import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';
import { DashboardSession } from '../../../../../test/support/dashboard/session.ts';

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

test('the page of a monitor says which window holds its alerts, until when, and what comes next', async () => {
  const { text } = await session.get(`/monitors/${held}`);
  expect(text).toContain('Under maintenance</span> by <a href="/maintenance/1">Move &lt;i&gt;</a> until');
  expect(text).toContain('Until then alerts are held');
  expect(text).toContain('Next maintenance: <a href="/maintenance/2">Later</a>');
  const free = await session.get(`/monitors/${other}`);
  expect(free.text).not.toContain('Until then alerts are held');
});
