import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../../test/support/api.ts';
import { DashboardSession } from '../../../../../test/support/dashboard/session.ts';

const PATH = '/tokens/new';
const ELEVEN_S = 11_000;

let api: RunningApi;
let session: DashboardSession;

beforeAll(async () => {
  api = await startApi();
  session = await DashboardSession.open(api);
});
afterAll(() => api.dispose());

const named = async (name: string) =>
  ((await api.call('GET', `/v1/tokens?name=${name}`)).body as { total: number }).total;
const secretIn = (text: string) => /<code class="secret">([^<]+)</.exec(text)?.[1];

test('a token that would outlive that of the session is refused at its field', async () => {
  const expires_at = new Date(api.clock.wall() + 10 * 86_400_000).toISOString();
  const { body } = await api.call('POST', '/v1/tokens', { name: 'lead', scope: 'admin', expires_at });
  const authorization = `Bearer ${(body as { token: string }).token}`;
  const bounded = await DashboardSession.open(api, { authorization });
  const refused = await bounded.send('/tokens/new', '/tokens/new', { name: 'ci', days: '90' });
  expect(refused.status).toBe(422);
  expect(refused.text).toContain(
    `<p class="field-error" id="days-hint">It must not be after ${expires_at}, when the token of this request expires.</p>`,
  );
  expect((await bounded.send('/tokens/new', '/tokens/new', { name: 'ci', days: '7' })).status).toBe(200);
});

test('a form that is sent twice makes one token, and both answers show it', async () => {
  const filled = await session.filled(PATH, PATH, { name: 'twice', days: '90' });
  const answers = await Promise.all([session.post(PATH, filled), session.post(PATH, filled)]);
  const [first, second] = answers.map(({ text }) => secretIn(text));
  expect(first).toBeTruthy();
  expect(second).toBe(first);
  expect(await named('twice')).toBe(1);
});

test('a form that is sent again later makes no token, and shows no secret', async () => {
  const filled = await session.filled(PATH, PATH, { name: 'later', days: '' });
  expect((await session.post(PATH, filled)).status).toBe(200);
  await api.clock.advance(ELEVEN_S);
  const { status, text } = await session.post(PATH, filled);
  expect(status).toBe(409);
  expect(secretIn(text)).toBeUndefined();
  expect(text).toContain('role="alert"');
  expect(await named('later')).toBe(1);
});

test('another session does not get the secret by the same key', async () => {
  const filled = await session.filled(PATH, PATH, { name: 'mine' });
  const own = secretIn((await session.post(PATH, filled)).text);
  const made = await api.call('POST', '/v1/tokens', { name: 'other', scope: 'admin' });
  const authorization = `Bearer ${(made.body as { token: string }).token}`;
  const other = await DashboardSession.open(api, { authorization });
  const fields = Object.fromEntries([...filled].filter(([name]) => name !== 'form_token'));
  const { text } = await other.send(PATH, PATH, fields);
  expect(own).toBeTruthy();
  expect(text).not.toContain(String(own));
});
