import { runCommandLine } from '@svc/cli/command-line.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';

let api: RunningApi;
let pageId: string;
let monitorId: string;
beforeAll(async () => {
  api = await startApi();
  pageId = await api.create('/v1/status-pages', { title: 'Status', slug: 'status' });
  monitorId = await api.create('/v1/monitors', {
    type: 'tcp',
    name: 'Mail',
    uri: 'mail.example:25',
    periodicity: '1m',
  });
});
afterAll(() => api.dispose());

async function svc(...args: string[]) {
  const said = { out: '', err: '' };
  const code = await runCommandLine(args, {
    environment: { SVC_BASE_URL: api.url, SVC_API_TOKEN: api.operator },
    out: { write: (text) => (said.out += text) },
    err: { write: (text) => (said.err += text) },
  });
  return { code, ...said };
}

test('a maintenance window is scheduled, listed, ended and removed', async () => {
  const times = ['--from', '2026-03-25T02:00', '--until', '2026-03-25T04:00', '--zone', 'Europe/Berlin'];
  const repeats = ['--repeat', 'weekly', '--on', 'wed,fri', '--every', '2'];
  const made = await svc(
    'maintenance',
    'create',
    '--title',
    'Update',
    ...times,
    ...repeats,
    '--monitor',
    monitorId,
  );
  expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\n$/) });
  const id = made.out.trim();
  expect((await api.call('GET', `/v1/maintenance-windows/${id}`)).body).toMatchObject({
    starts_at: '2026-03-25T01:00:00.000Z',
    repeat: { frequency: 'weekly', interval: 2, weekdays: ['wed', 'fri'] },
  });
  const { out } = await svc('maintenance', 'list', '--state', 'planned');
  expect(out).toMatch(/^ID +STATE +FROM +UNTIL +REPEATS +MONITORS +TITLE\n/);
  expect(out).toMatch(/planned +2026-03-25 01:00Z +2026-03-25 03:00Z +weekly +1 +Update\n/);
  expect(await svc('maintenance', 'end', id)).toMatchObject({
    code: 0,
    err: `svc: ended maintenance window ${id}\n`,
  });
  expect((await svc('maintenance', 'list')).out).toMatch(/ended +- +- +weekly +1 +Update\n/);
  expect(await svc('maintenance', 'remove', id)).toMatchObject({ code: 0 });
  expect((await svc('maintenance', 'list')).out).not.toContain('Update');
});

test('an incident is created, updated, listed and removed', async () => {
  const text = ['--text', 'We are looking into it.'];
  const made = await svc(
    'incident',
    'create',
    '--title',
    'Cards fail',
    '--page',
    pageId,
    '--impact',
    'down',
    ...text,
  );
  expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\n$/) });
  const id = made.out.trim();
  expect((await svc('incident', 'list', '--state', 'open')).out).toMatch(
    /investigating .* - +- +Cards fail\n/,
  );
  const told = await svc('incident', 'update', id, '--state', 'resolved', '--text', 'It works.');
  expect(told).toMatchObject({ code: 0, err: `svc: published an update of incident ${id}\n` });
  expect((await svc('incident', 'list')).out).toMatch(/resolved +\S+ \S+ +\S+ \S+ +- +- +Cards fail\n/);
  expect(await svc('incident', 'remove', id)).toMatchObject({ code: 0 });
  expect(await svc('incident', 'remove', id)).toMatchObject({
    code: 1,
    err: expect.stringContaining('there is no incident'),
  });
});

test('an incident is acknowledged, once, and that is taken back', async () => {
  const opened = { workspace_id: 1, monitor_id: Number(monitorId), opened_at: 1, key: 'a' };
  const { id } = await api.store.transaction(({ db }) =>
    db.insertInto('incidents').values(opened).returning('id').executeTakeFirstOrThrow(),
  );
  const done = await svc('incident', 'acknowledge', String(id), '--note', 'The disk is full.');
  expect(done).toMatchObject({ code: 0, err: expect.stringContaining(`incident ${id} is acknowledged by `) });
  expect((await api.call('GET', `/v1/incidents/${id}`)).body).toMatchObject({
    acknowledgement: { note: 'The disk is full.' },
  });
  await svc('incident', 'acknowledge', String(id), '--note', 'Another.');
  expect((await api.call('GET', `/v1/incidents/${id}`)).body).toMatchObject({
    acknowledgement: { note: 'The disk is full.' },
  });
  expect(await svc('incident', 'unacknowledge', String(id))).toMatchObject({ code: 0 });
  expect((await api.call('GET', `/v1/incidents/${id}`)).body).toMatchObject({ acknowledgement: null });
});

test('a monitor is muted and unmuted', async () => {
  const until = '2026-01-03T00:00:00.000Z';
  expect(await svc('monitor', 'mute', monitorId, '--until', until)).toMatchObject({
    code: 0,
    err: `svc: monitor ${monitorId} is muted until ${until}\n`,
  });
  expect((await svc('monitor', 'list')).out).toMatch(new RegExp(`unknown|paused +${until} +Mail`));
  expect(await svc('monitor', 'unmute', monitorId)).toMatchObject({ code: 0 });
  expect((await svc('monitor', 'list')).out).not.toContain(until);
});

test('monitors are listed by their ids, whatever their names and states are', async () => {
  const body = { type: 'http', url: 'https://shop.example', periodicity: '1m' };
  for (const name of ['Zoo', 'Alp', 'Mole']) {
    const active = name === 'Alp';
    expect(await api.call('POST', '/v1/monitors', { ...body, name, active })).toMatchObject({ status: 201 });
  }
  const { out } = await svc('monitor', 'list');
  expect(out).toMatch(/Mail\n.*Zoo\n.*Alp\n.*Mole\n$/);
});

test.each([
  [['maintenance'], 'the action is missing'],
  [['monitor', 'mute', '1'], 'use either --for or --until'],
  [['monitor', 'mute', '1', '--for', '2w'], '--for must be as 30m, 4h or 2d'],
  [['maintenance', 'create', '--title', 'a'], '--from is required'],
  [
    ['maintenance', 'create', '--title', 'a', '--from', 'b', '--until', 'c', '--every', '2'],
    '--every and --on need --repeat',
  ],
  [['maintenance', 'end'], 'the id of the maintenance window is missing'],
  [['incident', 'create', '--title', 'a'], '--page is required'],
  [['incident', 'update', '1', '--text', 'a'], '--state is required'],
  [['incident', 'update', '1', '--state', 'over'], '--state must be one of'],
])('%j is refused', async (args, message) => {
  expect(await svc(...args)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
});

test('refusals of the API are reported', async () => {
  const times = ['--from', '2026-03-25T02:00', '--until', '2026-03-25T01:00'];
  const { code, err } = await svc('maintenance', 'create', '--title', 'a', ...times, '--monitor', monitorId);
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('must be after starts_at') });
});
