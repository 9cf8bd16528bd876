import { runCommandLine } from '@svc/cli/command-line.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';

let api: RunningApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.dispose());

async function svc(args: string[], environment: Record<string, string> = {}) {
  const said = { out: '', err: '' };
  const code = await runCommandLine(['token', ...args], {
    environment: { SVC_BASE_URL: api.url, SVC_API_TOKEN: api.operator, ...environment },
    out: { write: (text) => (said.out += text) },
    err: { write: (text) => (said.err += text) },
  });
  return { code, ...said };
}

const works = async (token: string) =>
  (await api.call('GET', '/v1/monitors', undefined, { authorization: `Bearer ${token}` })).status === 200;

test('a token is created, listed, and revoked with the tokens that it created', async () => {
  const admin = await svc(['create', '--name', 'lead', '--scope', 'admin', '--expires', '90']);
  expect(admin).toMatchObject({ code: 0, out: expect.stringMatching(/^svc_[\w-]{43}\n$/) });
  const asAdmin = { SVC_API_TOKEN: admin.out.trim() };
  const reader = await svc(['create', '--name', 'ci'], asAdmin);
  expect(await works(reader.out.trim())).toBe(true);

  const { out } = await svc(['list'], asAdmin);
  expect(out).toMatch(/^ID +SCOPE +EXPIRES +LAST USED +MADE BY +NAME\n/);
  expect(out).toMatch(/admin +\d{4}-\d\d-\d\d .* +SVC_API_TOKEN +lead\n/);
  // The new token expires with the token that created it.
  expect(out).toMatch(/read +\d{4}-\d\d-\d\d +2026-\d\d-\d\d +lead +ci\n/);

  const [, id = ''] = /made token (\d+)/.exec(admin.err) ?? [];
  expect(await svc(['revoke', id, '--cascade'])).toMatchObject({ code: 0, out: '' });
  expect([await works(admin.out.trim()), await works(reader.out.trim())]).toEqual([false, false]);
});

test.each([
  [[], 'the action is missing: use "token list", "token create", "token revoke" or "token rotate"'],
  [['create'], '--name is required'],
  [['create', '--name', 'a', '--expires', 'soon'], 'must be a number of days'],
  [['revoke'], 'the id of the token is missing'],
  [['list', '--scope'], 'there is no option --scope'],
])('%j is refused', async (args, message) => {
  expect(await svc(args)).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
});

test('a token without the right gets a message', async () => {
  const { code, err } = await svc(['list'], { SVC_API_TOKEN: api.reader });
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringContaining('this request needs a token of scope admin'),
  });
});
