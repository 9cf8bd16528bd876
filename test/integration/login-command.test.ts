import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
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

test('a login is stored for its owner only, and other commands use it until the logout', async () => {
  const login = await svc(['login', `${api.url}/`], { HOME: home }, `${api.operator}\n`);
  expect(login).toMatchObject({ code: 0, err: expect.stringContaining('takes the token') });
  expect(login.out).toMatch(/^http:\/\/svc\.example\/login\?link=[\w-]{43}\n$/);
  expect(login.err).not.toContain(api.operator);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ base_url: api.url, token: api.operator });
  expect(await svc(['token', 'list'], { HOME: home })).toMatchObject({ code: 0 });
  // The environment overrides the login, and values of the two are not mixed.
  const elsewhere = { HOME: home, SVC_BASE_URL: 'https://svc.example.com' };
  expect(await svc(['token', 'list'], elsewhere)).toMatchObject({
    code: 2,
    err: expect.stringContaining('set SVC_API_TOKEN'),
  });
  expect(await svc(['logout'], { HOME: home })).toMatchObject({ code: 0 });
  expect(await svc(['token', 'list'], { HOME: home, SVC_DATA_DIR: home })).toMatchObject({ code: 2 });
});

test('without an address it only makes a link that logs in to the dashboard once', async () => {
  const made = await svc(['login'], { HOME: home, SVC_BASE_URL: api.url, SVC_API_TOKEN: api.reader });
  expect(made).toMatchObject({ code: 0, err: expect.stringContaining('once and within 15 minutes') });
  await expect(stat(file)).rejects.toThrow('ENOENT');
  const { search } = new URL(made.out.trim());
  const page = await fetch(`${api.url}/login${search}`);
  const [cookie = ''] = page.headers.getSetCookie();
  const form_token = /name="form_token" value="([^"]+)"/.exec(await page.text())?.[1] ?? '';
  const send = () =>
    fetch(`${api.url}/login`, {
      method: 'POST',
      redirect: 'manual',
      headers: { cookie: cookie.split(';', 1)[0] ?? '' },
      body: new URLSearchParams({ form_token, link: new URLSearchParams(search).get('link') ?? '' }),
    });
  expect((await send()).status).toBe(303);
  expect((await send()).status).toBe(401);
});

test('a token that the API refuses is not stored', async () => {
  const { code, err } = await svc(['login', api.url], { HOME: home }, 'token-of-nobody');
  expect({ code, err }).toEqual({
    code: 1,
    err: expect.stringContaining('the token comes from standard input'),
  });
  await expect(stat(file)).rejects.toThrow('ENOENT');
});

test('a refused token of the login is said to come from its file', async () => {
  await svc(['login', api.url], { HOME: home }, api.reader);
  const exported = ['export', '--secrets', 'inline'];
  expect((await svc(exported, { HOME: home })).err).toContain(`read with the token of ${file}`);
  await writeFile(file, JSON.stringify({ base_url: api.url, token: 'token-of-nobody' }));
  const { code, err } = await svc(exported, { HOME: home });
  expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(`the token comes from ${file}`) });
  expect(err).not.toContain('SVC_API_TOKEN');
});

test.each([
  [['login'], {}, 'set SVC_API_TOKEN'],
  [['login', '--all'], {}, 'unknown option'],
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

test.each(['{}', '[]', '{"data":[{}]}'])('an answer %s is said to be unknown', async (body) => {
  const other = createServer(({ url = '' }, response) => {
    response
      .writeHead(url.startsWith('/nowhere') ? 404 : 200, { 'content-type': 'application/json' })
      .end(body);
  });
  await once(other.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void other.close());
  const { port } = other.address() as AddressInfo;
  const environment = { SVC_BASE_URL: `http://127.0.0.1:${port}`, SVC_API_TOKEN: 'a-token' };
  expect(
    await svc(['login'], { ...environment, SVC_BASE_URL: `http://127.0.0.1:${port}/nowhere` }),
  ).toMatchObject({
    code: 1,
    err: expect.stringContaining('is not from the svc API'),
  });
  for (const args of ['login', 'retry 3', 'token create --name ci', 'incident list', 'otlp-test 1']) {
    const { code, out, err } = await svc(args.split(' '), environment);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^svc: an answer is not as this version of svc expects it \(.*\): .*\n$/);
  }
});

test('a file that is not a login file is reported', async () => {
  await svc(['login', api.url], { HOME: home }, api.operator);
  await writeFile(file, '{}');
  expect(await svc(['status'], { HOME: home })).toMatchObject({
    code: 2,
    err: expect.stringContaining('call "svc login" again'),
  });
});
