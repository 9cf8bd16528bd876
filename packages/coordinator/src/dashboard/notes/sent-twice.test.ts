import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';

let api: RunningApi;
let cookie = '';
let pageId = '';

beforeAll(async () => {
  api = await startApi();
  const page = { title: 'Shop', slug: 'shop', access_type: 'public' };
  const made = await api.call('POST', '/v1/status-pages', page);
  expect(made.status).toBe(201);
  pageId = (made.body as { id: string }).id;
  const { url } = (await api.call('POST', '/v1/login-links')).body as { url: string };
  const form = await fetch(`${api.url}/login`);
  const link = new URL(url).searchParams.get('link') ?? '';
  const answer = await post('/login', cookiesOf(form), hiddenIn(await form.text(), { link }));
  expect(answer.status).toBe(303);
  cookie = cookiesOf(answer);
});
afterAll(() => api.dispose());

const cookiesOf = (response: Response) =>
  response.headers
    .getSetCookie()
    .map((each) => each.split(';', 1)[0])
    .join('; ');

/** The hidden fields of the form with this action, with others. */
function hiddenIn(text: string, others: Record<string, string>, action = '/login'): URLSearchParams {
  const form = new RegExp(`action="${action}">(.*?)</form>`, 's').exec(text)?.[1] ?? '';
  const hidden = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)];
  return new URLSearchParams([
    ...hidden.map(([, name = '', value = '']): [string, string] => [name, value]),
    ...Object.entries(others),
  ]);
}

const post = (path: string, cookies: string, body: URLSearchParams) =>
  fetch(`${api.url}${path}`, { method: 'POST', redirect: 'manual', headers: { cookie: cookies }, body });

/** Opens the form of a page, fills it in, and sends it twice. @returns where both answers lead */
async function sendTwice(page: string, action: string, fields: Record<string, string>) {
  const opened = await fetch(`${api.url}${page}`, { headers: { cookie, accept: 'text/html' } });
  const filled = hiddenIn(await opened.text(), fields, action);
  const answers = await Promise.all([post(action, cookie, filled), post(action, cookie, filled)]);
  for (const answer of answers) expect(answer.status, await answer.text()).toBe(303);
  return answers.map(({ headers }) => headers.get('location'));
}

const countOf = async (path: string) =>
  ((await api.call('GET', path)).body as { data: readonly unknown[] }).data.length;

test('an incident, an update or a window whose form is sent twice is made once', async () => {
  const [first, second] = await sendTwice('/incidents/new', '/incidents/new', {
    ...{ title: 'Slow', impact: 'degraded', page_ids: pageId, state: 'investigating', text: 'We look.' },
  });
  expect(second).toBe(first);
  expect(await countOf('/v1/incidents')).toBe(1);
  const path = first ?? '';
  const update = { state: 'identified', text: 'It was found.' };
  await sendTwice(path, `${path}/updates`, update);
  expect(await countOf(`/v1${path}/updates`)).toBe(2);
  await sendTwice('/maintenance/new', '/maintenance/new', {
    ...{ title: 'Move', starts_at: '2026-01-02T10:00', ends_at: '2026-01-02T11:00' },
    ...{ time_zone: 'UTC', page_ids: pageId },
  });
  expect(await countOf('/v1/maintenance-windows')).toBe(1);
});

test('the same update is published again where its form was opened again', async () => {
  const { data } = (await api.call('GET', '/v1/incidents')).body as { data: { id: string }[] };
  const path = `/incidents/${data[0]?.id}`;
  await sendTwice(path, `${path}/updates`, { state: 'identified', text: 'It was found.' });
  expect(await countOf(`/v1${path}/updates`)).toBe(3);
});
