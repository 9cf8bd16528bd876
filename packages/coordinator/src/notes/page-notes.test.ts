import { afterEach, beforeEach, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { addRows } from '../../../../test/support/store-rows.ts';
import { PageNotesReader } from './page-notes.ts';

/* What a page shows of the notes, over the API that writes them. */

const HOUR_MS = 3_600_000;

let api: RunningApi;
let notes: PageNotesReader;
let page: string;
let shown: { monitor: string; component: string };
let hidden: { monitor: string; component: string };

beforeEach(async () => {
  api = await startApi();
  notes = new PageNotesReader(api.store);
  page = await make('/v1/status-pages', { title: 'Status', slug: 'status' });
  shown = await monitored(true);
  hidden = await monitored(false);
});
afterEach(() => api.dispose());

async function make(path: string, body: object): Promise<string> {
  const answer = await api.call('POST', path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return (answer.body as { id: string }).id;
}

async function monitored(isPublic: boolean): Promise<{ monitor: string; component: string }> {
  const body = {
    type: 'http',
    name: 'Shop',
    url: 'https://shop.example/',
    periodicity: '1m',
    public: isPublic,
  };
  const monitor = await make('/v1/monitors', body);
  const component = { type: 'monitor', name: 'Shop', monitor_id: monitor };
  return { monitor, component: await make(`/v1/status-pages/${page}/components`, component) };
}

function read() {
  const now = api.clock.wall();
  return notes.read(Number(page), { from: now - 24 * HOUR_MS, now });
}

async function recorded(key: string, monitor: string): Promise<string> {
  const row = { key, workspace_id: 1, monitor_id: Number(monitor), opened_at: api.clock.wall() - HOUR_MS };
  await addRows(api.store, 'incidents', { ...row, closed_at: null, closure: null });
  const found = await api.store.read
    .selectFrom('incidents')
    .select('id')
    .where('key', '=', key)
    .executeTakeFirst();
  return String(found?.id);
}

const at = (hours: number) => new Date(api.clock.wall() + hours * HOUR_MS).toISOString();

test('incidents of its own, and of its monitors when somebody wrote about them', async () => {
  const update = { state: 'identified', text: 'We know.' };
  const own = await make('/v1/incidents', {
    title: 'Own',
    impact: 'down',
    page_ids: [page],
    ...update,
    at: at(-2),
  });
  const silent = await recorded('silent', shown.monitor);
  const told = await recorded('told', shown.monitor);
  const secret = await recorded('secret', hidden.monitor);
  for (const id of [told, secret]) await make(`/v1/incidents/${id}/updates`, update);
  expect((await read()).incidents).toMatchObject([
    {
      id: told,
      key: 'told',
      title: null,
      state: 'identified',
      impact: 'operational',
      componentIds: [shown.component],
    },
    { id: own, key: null, title: 'Own', impact: 'down', componentIds: [] },
  ]);
  // Named, it is shown in any case; elsewhere, it is not.
  const other = await make('/v1/status-pages', { title: 'Other', slug: 'other' });
  await api.call('PUT', `/v1/incidents/${told}`, { title: 'Told', page_ids: [other] });
  await api.call('PUT', `/v1/incidents/${secret}`, { title: 'Secret', page_ids: [page] });
  expect((await read()).incidents.map(({ title }) => title)).toEqual(['Secret', 'Own']);
  expect(silent).not.toBe(told);
});

test('maintenance of the page, of its components and of the monitors that it shows, each occurrence by itself', async () => {
  const window = { text: 'Slow.', starts_at: at(-1), ends_at: at(1) };
  const path = '/v1/maintenance-windows';
  await make(path, { ...window, title: 'of the page', page_ids: [page] });
  await make(path, {
    ...window,
    title: 'of a component',
    component_ids: [shown.component],
    starts_at: at(2),
    ends_at: at(3),
  });
  const repeat = { frequency: 'daily', interval: 10 };
  await make(path, {
    ...window,
    title: 'of a monitor',
    monitor_ids: [shown.monitor, hidden.monitor],
    starts_at: at(-3),
    ends_at: at(-2),
    repeat,
  });
  await make(path, { ...window, title: 'of a hidden monitor', monitor_ids: [hidden.monitor] });
  await make(path, { ...window, title: 'long ago', page_ids: [page], starts_at: at(-90), ends_at: at(-80) });
  await make(path, { ...window, title: 'far away', page_ids: [page], starts_at: at(500), ends_at: at(501) });
  const { maintenance } = await read();
  expect(maintenance.map(({ title, state, componentIds }) => [title, state, componentIds])).toEqual([
    ['of a monitor', 'completed', [shown.component]],
    ['of the page', 'in_progress', []],
    ['of a component', 'scheduled', [shown.component]],
    ['of a monitor', 'scheduled', [shown.component]],
  ]);
});

test('the version changes with each change of the notes, and not with time', async () => {
  const versions = [await notes.version(Number(page))];
  const changed = async () => versions.push(await notes.version(Number(page)));
  const window = { title: 'a', starts_at: at(1), ends_at: at(2), monitor_ids: [shown.monitor] };
  const windowId = await make('/v1/maintenance-windows', window);
  await changed();
  await api.call('PUT', `/v1/maintenance-windows/${windowId}`, { ...window, title: 'b' });
  await changed();
  await api.call('DELETE', `/v1/maintenance-windows/${windowId}`);
  await changed();
  const update = { state: 'identified', text: 'We know.' };
  const incident = await make('/v1/incidents', { title: 'Own', page_ids: [page], ...update });
  await changed();
  const second = await make(`/v1/incidents/${incident}/updates`, { ...update, state: 'resolved' });
  await changed();
  await api.call('PUT', `/v1/incidents/${incident}/updates/${second}`, update);
  await changed();
  await api.call('DELETE', `/v1/incidents/${incident}/updates/${second}`);
  await changed();
  await api.call('PUT', `/v1/incidents/${incident}`, { title: 'Other', page_ids: [page] });
  await changed();
  const told = await recorded('told', shown.monitor);
  await make(`/v1/incidents/${told}/updates`, update);
  await changed();
  for (const [index, version] of versions.entries()) expect(version).not.toBe(versions[index + 1]);
  const last = versions.at(-1);
  api.clock.advance(HOUR_MS);
  expect(await notes.version(Number(page))).toBe(last);
});
