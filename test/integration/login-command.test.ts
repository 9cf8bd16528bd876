import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { type RunningApi, startApi } from '../support/api.ts';
import { svc } from '../support/svc.ts';

let api: RunningApi;
let home: string;
let file: string;

beforeEach(async () => {
  api = await startApi();
  onTestFinished(() => api.dispose());
  home = await mkdtemp(join(tmpdir(), 'svc-home-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  file = join(home, '.config/svc/login.json');
});

test('a login is kept for its owner, and other commands use it until the logout', async () => {
  const login = await svc(['login', `${api.url}/`], { HOME: home }, `${api.operator}\n`);
  expect(login).toMatchObject({ code: 0, out: '', err: expect.stringContaining('takes the token') });
  expect(login.err).not.toContain(api.operator);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ base_url: api.url, token: api.operator });
  expect(await svc(['token', 'list'], { HOME: home })).toMatchObject({ code: 0 });
  // The environment wins over it, and the two are not mixed.
  const elsewhere = { HOME: home, SVC_BASE_URL: 'https://svc.example.com' };
  expect(await svc(['token', 'list'], elsewhere)).toMatchObject({
    code: 2,
    err: expect.stringContaining('set SVC_API_TOKEN'),
  });
  expect(await svc(['logout'], { HOME: home })).toMatchObject({ code: 0 });
  expect(await svc(['token', 'list'], { HOME: home, SVC_DATA_DIR: home })).toMatchObject({ code: 2 });
});

test('a token that the API refuses is not kept', async () => {
  const { code, err } = await svc(['login', api.url], { HOME: home }, 'token-of-nobody');
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringContaining('the token comes from standard input'),
  });
  await expect(stat(file)).rejects.toThrow('ENOENT');
});

test.each([
  [['login'], {}, 'the address of the API is missing'],
  [['login', 'svc.example.com'], { HOME: '/nowhere' }, 'must be a URL'],
  [['login', 'https://svc.example.com'], {}, 'HOME is not set'],
  [['login', 'https://svc.example.com'], { HOME: '/nowhere' }, 'the token on standard input is empty'],
])('%j is refused', async (args, environment, message) => {
  const given = environment as Record<string, string>;
  expect(await svc(args, given, message.includes('URL') ? 'a-token' : '')).toMatchObject({
    code: 2,
    err: expect.stringContaining(message),
  });
});

test('a file that is none of a login is told', async () => {
  await svc(['login', api.url], { HOME: home }, api.operator);
  await writeFile(file, '{}');
  expect(await svc(['status'], { HOME: home })).toMatchObject({
    code: 2,
    err: expect.stringContaining('call "svc login" again'),
  });
});
