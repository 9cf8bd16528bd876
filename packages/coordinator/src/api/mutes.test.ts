import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';

let api: RunningApi;
let id: string;

beforeAll(async () => {
  api = await startApi();
  id = await api.create('/v1/monitors', {
    ...{ type: 'tcp', name: 'Mail', uri: 'mail.example:25', periodicity: '1m' },
  });
});
afterAll(() => api.dispose());

// The fake clock shows the beginning of 2026.
const UNTIL = '2026-01-02T00:00:00.000Z';
const muteOf = async () => {
  const { body } = await api.call('GET', `/v1/monitor-states?ids=${id}`);
  return (body as { data: { mute: object | null }[] }).data[0]?.mute;
};

test('a mute says who set it and until when; a second one replaces it', async () => {
  const set = await api.call('POST', `/v1/monitors/${id}/mute`, { until: '2026-01-03T00:00:00Z' });
  expect(set).toMatchObject({ status: 200, body: { monitor_id: id, until: '2026-01-03T00:00:00.000Z' } });
  const again = await api.call('POST', `/v1/monitors/${id}/mute`, { until: UNTIL });
  expect(again).toMatchObject({ status: 200, body: { until: UNTIL, by: expect.any(String) } });
  expect(await muteOf()).toMatchObject({ until: UNTIL });
});

test('a mute that is over is none, and one that is ended', async () => {
  await api.store.transaction(({ db }) => db.updateTable('mutes').set({ muted_until: 1 }).execute());
  expect(await muteOf()).toBeNull();
  await api.call('POST', `/v1/monitors/${id}/mute`, { until: UNTIL });
  expect((await api.call('POST', `/v1/monitors/${id}/unmute`)).status).toBe(204);
  expect(await muteOf()).toBeNull();
  expect((await api.call('POST', `/v1/monitors/${id}/unmute`)).status).toBe(204);
});

test.each([
  ['2025-12-31T00:00:00Z', 'must be in the future'],
  ['2026-03-01T00:00:00Z', 'may be at most 31 days ahead'],
  ['tomorrow', 'must be an instant as in 2027-01-01T00:00:00Z'],
])('a mute until %s is refused', async (until, message) => {
  const { status, body } = await api.call('POST', `/v1/monitors/${id}/mute`, { until });
  expect({ status, body }).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '/until', message }] },
  });
});

test('a monitor that does not exist is not muted', async () => {
  expect((await api.call('POST', '/v1/monitors/99/mute', { until: UNTIL })).status).toBe(404);
  expect((await api.call('POST', '/v1/monitors/99/unmute')).status).toBe(404);
});

test('the audit trail names the mute', async () => {
  const { body } = await api.call('GET', '/v1/audit?limit=100');
  const actions = (body as { data: { action: string; object: string }[] }).data;
  expect(actions).toContainEqual(expect.objectContaining({ action: 'mute', object: `monitors/${id}` }));
  expect(actions).toContainEqual(expect.objectContaining({ action: 'unmute', object: `monitors/${id}` }));
});
