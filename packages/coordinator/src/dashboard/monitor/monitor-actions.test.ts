import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';
import { DashboardSession } from '../../../../../test/support/dashboard/session.ts';

let api: RunningApi;
let session: DashboardSession;

beforeAll(async () => {
  api = await startApi();
  session = await DashboardSession.open(api);
});
afterAll(() => api.dispose());

const SECRET = { key: 'Authorization', value: 'Bearer word' };
const made = (name: string, more: object = {}) =>
  api.create('/v1/monitors', {
    ...{ type: 'http', name, url: 'https://user:word@a.example/?key=word', periodicity: '5m', active: true },
    ...{ headers: [SECRET], retry: 1, description: 'of the shop', ...more },
  });
const read = async (id: string) =>
  (await api.call('GET', `/v1/monitors/${id}`)).body as Record<string, unknown>;

/** The attributes of a monitor that an action must leave as they are. */
const attributes = async (id: string) => {
  const { active: _active, status: _status, updated_at: _updated, ...rest } = await read(id);
  return rest;
};

test('a monitor is paused and resumed with a button; everything else about it stays', async () => {
  const id = await made('One');
  const before = await attributes(id);
  const paused = await session.send(`/monitors/${id}`, `/monitors/${id}/pause`);
  expect(paused).toMatchObject({ status: 303, location: `/monitors/${id}` });
  expect(await read(id)).toMatchObject({ active: false });
  expect(await attributes(id)).toEqual(before);
  await session.send(`/monitors/${id}`, `/monitors/${id}/resume`);
  expect(await read(id)).toMatchObject({ active: true });
  expect(await attributes(id)).toEqual(before);
});

test('the ticked monitors of the list are paused, resumed and removed together', async () => {
  const [one, two, other] = [await made('Two'), await made('Three'), await made('Four')];
  const act = (action: string, monitor = [one, two]) =>
    session.send('/', '/monitors/selected', { monitor, action });
  const active = async () => Promise.all([one, two, other].map(async (id) => (await read(id)).active));
  await act('pause');
  expect(await active()).toEqual([false, false, true]);
  await act('resume', [two]);
  expect(await active()).toEqual([false, true, true]);

  const question = await act('remove');
  expect(question.text).toContain('<h1>Remove 2 monitors</h1>');
  expect(await active()).toEqual([false, true, true]);
  const fields = { monitor: [one, two], action: 'remove-now', components: 'remove' };
  await session.send('/', '/monitors/selected', fields);
  expect((await api.call('GET', `/v1/monitors/${one}`)).status).toBe(404);
  expect((await api.call('GET', `/v1/monitors/${two}`)).status).toBe(404);
  expect(await read(other)).toMatchObject({ name: 'Four' });
});

test('an action without a ticked monitor changes nothing; after a refusal the others are changed', async () => {
  expect(await session.send('/', '/monitors/selected', { action: 'pause' })).toMatchObject({ location: '/' });
  const id = await made('Five');
  await session.send('/', '/monitors/selected', { action: 'pause', monitor: ['999999', id] });
  expect(await read(id)).toMatchObject({ active: false });
});

test('an action leads back to the same filters; a page that its removals have emptied, to the last page', async () => {
  for (let number = 0; number < 51; number += 1) await made(`Row ${number}`);
  const query = '?name=row&sort=name&offset=50';
  const [list, action] = [`/${query}`, `/monitors/selected${query}`];
  const [, id = ''] = (await session.get(list)).text.match(/name="monitor" value="(\d+)"/) ?? [];
  const stale = await session.filled(list, action, { monitor: id, action: 'remove' });
  const act = (fields: Record<string, string>) => session.send(list, action, { monitor: id, ...fields });
  expect(await act({ action: 'pause' })).toMatchObject({ status: 303, location: list });
  expect(await session.send(list, action)).toMatchObject({ status: 303, location: list });
  expect((await act({ action: 'remove' })).text).toContain(
    `href="${list.replaceAll('&', '&amp;')}">Keep them`,
  );
  expect(await act({ action: 'remove-now', components: 'remove' })).toMatchObject({ location: list });
  const { text } = await session.get(list);
  expect(text.match(/>Row \d+</g)).toHaveLength(50);
  expect(text).not.toContain('No monitor');
  // The form of another tab still has the monitor: there is nothing to ask.
  expect(await session.post(action, stale)).toMatchObject({ status: 303, location: list });
});

test('a list whose address has a position beyond its end shows its last page', async () => {
  expect((await session.get('/tokens?offset=100')).text).toContain('set by SVC_API_TOKEN');
  await api.create('/v1/notifications', {
    name: 'Hook',
    provider_type: 'webhook',
    webhook: { endpoint: 'https://h.example/' },
  });
  expect((await session.get('/channels?offset=999999999')).text).toContain('>Hook<');
});

test('a copy opens the form of a new monitor with the same attributes', async () => {
  const id = await made('Six', { degraded_at: 300 });
  const create = '/monitors/new?type=http';
  const filled = await session.filled(`/monitors/${id}/copy`, create, { intent: 'save' });
  expect(filled.get('name')).toBe('Six (copy)');
  const { location } = await session.post(create, filled);
  const copy = location?.replace('/monitors/', '') ?? '';
  expect(copy).not.toBe(id);
  const { id: _id, name: _name, created_at: _created, ...expected } = await attributes(id);
  expect(await attributes(copy)).toMatchObject(expected);
});

test('a monitor is muted and unmuted on its page, and the ticked ones in the list; page and list say so', async () => {
  const [one, two] = [await made('Seven'), await made('Eight')];
  const mutes = async () => {
    const { body } = await api.call('GET', `/v1/monitor-states?ids=${one},${two}&sort=name`);
    return (body as { data: { name: string; mute: { by: string } | null }[] }).data.map(
      ({ name, mute }) => [name, mute?.by ?? null] as const,
    );
  };
  await session.send(`/monitors/${one}`, `/monitors/${one}/mute`, { mute_for: '1h' });
  expect((await mutes()).filter(([, by]) => by !== null).map(([name]) => name)).toEqual(['Seven']);
  expect((await session.get(`/monitors/${one}`)).text).toContain('Until then alerts are held.');
  expect((await session.get('/?name=Seven')).text).toContain('Muted</span>');
  await session.send(`/monitors/${one}`, `/monitors/${one}/unmute`);
  expect((await session.get(`/monitors/${one}`)).text).not.toContain('Until then alerts are held.');

  const act = (action: string) =>
    session.send('/', '/monitors/selected', { action, monitor: [one, two], mute_for: '4h' });
  await act('mute');
  expect((await mutes()).every(([, by]) => by !== null)).toBe(true);
  await act('unmute');
  expect((await mutes()).every(([, by]) => by === null)).toBe(true);
});

test('the ticked monitors are copied: paused, with the same attributes, secrets and channels', async () => {
  const id = await made('Original', { headers: [{ key: 'Authorization', value: 's3cret' }], retry: 1 });
  const channel = await api.create('/v1/notifications', {
    ...{ name: 'Night shift', provider_type: 'webhook', monitor_ids: [id] },
    webhook: { endpoint: 'https://hooks.example/1' },
  });
  const { notice } = await session.send('/', '/monitors/selected', { monitor: id, action: 'copy' });
  expect(notice).toBe('1 monitor copied; a copy is paused.');
  const list = (await api.call('GET', '/v1/monitors?name=Original')).body as { data: { id: string }[] };
  const [original, copied] = list.data;
  const { created_at: _created, updated_at: _updated, ...kept } = original as Record<string, unknown>;
  const other = { id: copied?.id, name: 'Original (copy)', active: false };
  expect(copied).toMatchObject({ ...kept, ...other });
  expect((await api.call('GET', `/v1/notifications/${channel}`)).body).toMatchObject({
    monitor_ids: [id, copied?.id],
  });
});
