import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';
import { DashboardSession } from '../../../../../test/support/dashboard/session.ts';

let api: RunningApi;
let session: DashboardSession;
let pageId = '';

beforeAll(async () => {
  api = await startApi();
  const page = { title: 'Shop', slug: 'shop', access_type: 'public' };
  const made = await api.call('POST', '/v1/status-pages', page);
  expect(made.status).toBe(201);
  pageId = (made.body as { id: string }).id;
  session = await DashboardSession.open(api);
});
afterAll(() => api.dispose());

/**
 * Opens the form of a page, fills it in, and sends it twice.
 *
 * @returns the targets of both redirects
 */
async function sendTwice(page: string, action: string, fields: Record<string, string>) {
  const filled = await session.filled(page, action, fields);
  const answers = await Promise.all([session.post(action, filled), session.post(action, filled)]);
  for (const { status, text } of answers) expect(status, text).toBe(303);
  return answers.map(({ location }) => location);
}

const countOf = async (path: string) =>
  ((await api.call('GET', path)).body as { data: readonly unknown[] }).data.length;

test('a form of an incident, an update or a window that is sent twice creates one', async () => {
  const [first, second] = await sendTwice('/incidents/new', '/incidents/new', {
    ...{ title: 'Slow', impact: 'degraded', page_ids: pageId, state: 'investigating', text: 'We look.' },
  });
  expect(second).toBe(first);
  expect(await countOf('/v1/incidents')).toBe(1);
  const path = first ?? '';
  const update = { state: 'identified', text: 'It was found.' };
  await sendTwice(path, `${path}/updates/new`, update);
  expect(await countOf(`/v1${path}/updates`)).toBe(2);
  await sendTwice('/maintenance/new', '/maintenance/new', {
    ...{ title: 'Move', starts_at: '2026-01-02T10:00', ends_at: '2026-01-02T11:00', page_ids: pageId },
  });
  expect(await countOf('/v1/maintenance-windows')).toBe(1);
});

test('the same update is published again if its form was opened again', async () => {
  const { data } = (await api.call('GET', '/v1/incidents')).body as { data: { id: string }[] };
  const path = `/incidents/${data[0]?.id}`;
  await sendTwice(path, `${path}/updates/new`, { state: 'identified', text: 'It was found.' });
  expect(await countOf(`/v1${path}/updates`)).toBe(3);
});
