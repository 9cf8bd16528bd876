import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { generateToken } from '../store/access/tokens.ts';
import { formToken } from '../web/csrf.ts';

let api: RunningApi;
beforeAll(async () => {
  api = await startApi({ failureRate: { perSecond: 0.001, atOnce: 5 } });
});
afterAll(() => api.dispose());

type Answer = { status: number; headers: Headers; text: string; cookies: Record<string, string> };

/** Sends a request as a browser does, without following redirects. */
async function visit(path: string, init: RequestInit = {}): Promise<Answer> {
  const headers = { accept: 'text/html', ...(init.headers as Record<string, string>) };
  const response = await fetch(`${api.url}${path}`, { redirect: 'manual', ...init, headers });
  const cookies = Object.fromEntries(
    response.headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0]?.split('=') as [string, string]),
  );
  return { status: response.status, headers: response.headers, text: await response.text(), cookies };
}

const cookieHeader = (cookies: Record<string, string>) =>
  Object.entries(cookies)
    .map(([name, value]) => `${name}=${value}`)
    .join('; ');

const tokenIn = (text: string) => /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? '';

/** Sends a form with the cookies of a visitor. */
const send = (path: string, cookies: Record<string, string>, fields: Record<string, string>, headers = {}) =>
  visit(path, {
    method: 'POST',
    headers: {
      cookie: cookieHeader(cookies),
      'content-type': 'application/x-www-form-urlencoded',
      ...headers,
    },
    body: new URLSearchParams(fields).toString(),
  });

/** Logs in, and returns the cookies of the session. */
async function login(token = api.operator, next = '/'): Promise<Record<string, string>> {
  const form = await visit('/login');
  const answer = await send('/login', form.cookies, { form_token: tokenIn(form.text), token, next });
  expect(answer.status).toBe(303);
  return answer.cookies;
}

describe('pages', () => {
  test('cannot be framed, load nothing from elsewhere, and are kept by no cache', async () => {
    for (const path of ['/login', '/']) {
      const { headers, status } = await visit(path, { headers: { cookie: cookieHeader(await login()) } });
      if (status !== 200) continue;
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      );
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('same-origin');
    }
  });

  test('have no inline script, style or handler', async () => {
    const { text } = await visit('/', { headers: { cookie: cookieHeader(await login()) } });
    expect(text).not.toMatch(/<script(?![^>]* src=)|<style|\sstyle=|\son\w+=/i);
  });

  test('an unknown page is answered in HTML to people, and as a problem to programs', async () => {
    const headers = { cookie: cookieHeader(await login()) };
    const people = await visit('/nothing', { headers });
    expect(people.status).toBe(404);
    expect(people.text).toContain('There is no such page.');
    const programs = await visit('/nothing', { headers: { accept: '*/*' } });
    expect(programs.headers.get('content-type')).toBe('application/problem+json');
    const wrong = await visit('/login', { method: 'DELETE' });
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, POST']);
  });
});

describe('the login', () => {
  test.each(['', 'planted', 'a.b'])(
    'shows a form with a seed of its own where the cookie is %j',
    async (planted) => {
      const cookies = { 'svc-visitor': planted };
      const form = await visit('/login', { headers: { cookie: cookieHeader(cookies) } });
      expect(form.status).toBe(200);
      expect(form.cookies['svc-visitor']).toMatch(/^[\w-]{43}$/);
      const fields = { form_token: formToken(planted), token: api.operator };
      expect((await send('/login', cookies, fields)).status).toBe(403);
    },
  );

  test('redirects to the wanted page, only within this site', async () => {
    const asked = await visit('/nothing?a=b');
    expect(asked.headers.get('location')).toBe('/login?next=%2Fnothing%3Fa%3Db');
    const form = await visit('/login?next=https://evil.example/');
    expect(form.text).toContain('name="next" value="/"');
    const fields = { form_token: tokenIn(form.text), token: api.operator };
    for (const next of ['https://evil.example/', '//evil.example', '/\\evil.example', '/\t/evil.example']) {
      const answer = await send('/login', form.cookies, { ...fields, next });
      expect([answer.status, answer.headers.get('location')]).toEqual([303, '/']);
    }
  });

  test('makes a new session with any cookie of the browser, and ends the old one', async () => {
    const planted = { 'svc-session': 'A'.repeat(43) };
    const form = await visit('/login');
    const fields = { form_token: tokenIn(form.text), token: api.operator, next: '/' };
    const first = await send('/login', { ...form.cookies, ...planted }, fields);
    expect(first.cookies['svc-session']).not.toBe(planted['svc-session']);
    const second = await send('/login', { ...form.cookies, ...first.cookies }, fields);
    expect(second.cookies['svc-session']).not.toBe(first.cookies['svc-session']);
    const old = await visit('/', { headers: { cookie: cookieHeader(first.cookies) } });
    expect(old.headers.get('location')).toBe('/login');
  });

  test('does not come back with a token of the operator that was taken away and is set again', async () => {
    const [kept, other] = [api.operator, generateToken()];
    const cookies = await login();
    const made = await api.call('POST', '/v1/login-links');
    const link = new URL((made.body as { url: string }).url).searchParams.get('link') ?? '';
    const isLoggedIn = async () => (await visit('/', { headers: { cookie: cookieHeader(cookies) } })).status;
    expect(await isLoggedIn()).toBe(200);
    for (const [secrets, status] of [
      [[kept, other], 200],
      [[other], 303],
      [[kept], 303],
    ] as const) {
      api.clock.advance(1_000);
      await api.tokens.setOperatorTokens(1, secrets, api.clock.wall());
      expect([secrets, await isLoggedIn()]).toEqual([secrets, status]);
    }
    const form = await visit('/login');
    const byLink = await send('/login', form.cookies, { form_token: tokenIn(form.text), link });
    expect(byLink.status).toBe(401);
  });

  test('from another site is refused, also with a token of its own', async () => {
    const form = await visit('/login');
    const fields = { form_token: tokenIn(form.text), token: api.operator, next: '/' };
    for (const headers of [
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'null' },
    ]) {
      expect((await send('/login', form.cookies, fields, headers)).status).toBe(403);
    }
    expect((await send('/login', {}, fields)).status).toBe(403);
    expect((await send('/login', form.cookies, { ...fields, form_token: '' })).status).toBe(403);
  });

  test('by a link writes a line of the audit trail too', async () => {
    const made = await api.call('POST', '/v1/tokens', { name: 'by link', scope: 'read' });
    const { id, token } = made.body as { id: string; token: string };
    const bearer = { authorization: `Bearer ${token}` };
    const { body } = await api.call('POST', '/v1/login-links', undefined, bearer);
    const link = new URL((body as { url: string }).url).searchParams.get('link') ?? '';
    const form = await visit(`/login?link=${link}`);
    const answer = await send('/login', form.cookies, { form_token: tokenIn(form.text), link });
    expect(answer.status).toBe(303);
    const audit = await api.call('GET', `/v1/audit?object=tokens/${id}`);
    expect(audit.body).toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ action: 'login' })]),
    });
    const again = await send('/login', form.cookies, { form_token: tokenIn(form.text), link });
    expect(again.status).toBe(401);
  });

  test('refuses large forms of visitors without a session', async () => {
    const form = await visit('/login');
    const fields = { form_token: tokenIn(form.text), token: 'x'.repeat(10_000) };
    expect((await send('/login', form.cookies, fields)).status).toBe(413);
  });

  test('writes a line of the audit trail, and so does a refusal', async () => {
    await login();
    const form = await visit('/login');
    await send('/login', form.cookies, { form_token: tokenIn(form.text), token: 'wrong' });
    const { body } = await api.call('GET', '/v1/audit?limit=10');
    const lines = (body as { data: { action: string; outcome: string; object: string }[] }).data;
    expect(lines).toContainEqual(
      expect.objectContaining({ action: 'login', outcome: 'done', object: 'tokens/1' }),
    );
    expect(lines).toContainEqual(
      expect.objectContaining({ action: 'login', outcome: 'refused', object: 'dashboard' }),
    );
  });
});

describe('forms', () => {
  test('of another site, without the token, or of another session are refused', async () => {
    const cookies = await login();
    const page = await visit('/', { headers: { cookie: cookieHeader(cookies) } });
    const form_token = tokenIn(page.text);
    const other = await visit('/', { headers: { cookie: cookieHeader(await login()) } });
    expect((await send('/logout', cookies, {})).status).toBe(403);
    expect((await send('/logout', cookies, { form_token: tokenIn(other.text) })).status).toBe(403);
    expect((await send('/logout', cookies, { form_token }, { 'sec-fetch-site': 'same-site' })).status).toBe(
      403,
    );
    expect((await send('/logout', cookies, { form_token }, { origin: 'https://evil.example' })).status).toBe(
      403,
    );
    const json = await visit('/logout', {
      method: 'POST',
      headers: { cookie: cookieHeader(cookies), 'content-type': 'text/plain' },
      body: `form_token=${form_token}`,
    });
    expect(json.status).toBe(415);
    expect((await visit('/', { headers: { cookie: cookieHeader(cookies) } })).status).toBe(200);
    expect((await send('/logout', cookies, { form_token })).headers.get('location')).toBe('/login');
    expect((await visit('/', { headers: { cookie: cookieHeader(cookies) } })).status).toBe(303);
  });
});

test('a version that no header can contain is refused, and is no defect', async () => {
  const cookies = await login();
  const page = await visit('/', { headers: { cookie: cookieHeader(cookies) } });
  for (const draft_version of ['☃', '"1"\nx: y']) {
    const fields = { form_token: tokenIn(page.text), draft_version, theme: 'dark' };
    expect((await send('/pages/1/appearance', cookies, fields)).status).toBe(303);
  }
});

test('a session is no token of the API, and a token is no session', async () => {
  const cookie = cookieHeader(await login());
  const answer = await visit('/v1/monitors', { headers: { cookie } });
  expect(answer.status).toBe(401);
  const page = await visit('/', { headers: { authorization: `Bearer ${api.operator}` } });
  expect(page.headers.get('location')).toBe('/login');
});

/** Sends a request with another `Host`, as a browser does after DNS rebinding. */
function under(host: string, cookie: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const { port } = new URL(api.url);
  const request = httpRequest(
    { host: '127.0.0.1', port, headers: { host, cookie, accept: 'text/html' } },
    (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0));
    },
  );
  request.on('error', reject).end();
  return promise;
}

test('pages answer only under the hosts of the service', async () => {
  const cookie = cookieHeader(await login());
  expect(await under('127.0.0.1', cookie)).toBe(200);
  expect(await under('localhost:1234', cookie)).toBe(200);
  expect(await under('svc.example', cookie)).toBe(200);
  for (const host of ['evil.example', 'svc.example.evil.example', '127.0.0.1.evil.example']) {
    expect(await under(host, cookie), host).not.toBe(200);
  }
});

describe('the stream of changes', () => {
  /** Opens the stream of a session, and waits for its first event. */
  async function stream(cookies: Record<string, string>) {
    const headers = { accept: 'text/event-stream', cookie: cookieHeader(cookies) };
    const response = await fetch(`${api.url}/events`, { headers });
    const reader = response.body?.getReader();
    expect([response.status, (await reader?.read())?.done]).toEqual([200, false]);
    return { isOver: async () => (await reader?.read())?.done };
  }

  test('ends with a logout, and with the revocation of its token', async () => {
    const made = await api.call('POST', '/v1/tokens', { name: 'watches', scope: 'read' });
    const { id, token } = made.body as { id: string; token: string };
    const [leaving, revoked] = [await login(), await login(token)];
    const streams = [await stream(leaving), await stream(revoked)];
    const page = await visit('/', { headers: { cookie: cookieHeader(leaving) } });
    await send('/logout', leaving, { form_token: tokenIn(page.text) });
    await api.call('DELETE', `/v1/tokens/${id}`);
    api.clock.advance(1_000);
    for (const one of streams) expect(await one.isOver()).toBe(true);
    expect((await visit('/events', { headers: { cookie: cookieHeader(revoked) } })).status).toBe(303);
  });

  test('is not opened by a HEAD', async () => {
    const made = await api.call('POST', '/v1/tokens', { name: 'asks', scope: 'read' });
    const { token } = made.body as { token: string };
    const cookie = cookieHeader(await login(token));
    const head = () => visit('/events', { method: 'HEAD', headers: { cookie } });
    for (let count = 0; count < 120; count += 1) expect((await head()).status, `${count}`).toBe(200);
  });
});

test('a link of a token that has expired since opens nothing, and is noted as refused', async () => {
  const expires_at = new Date(api.clock.wall() + 60_000).toISOString();
  const made = await api.call('POST', '/v1/tokens', { name: 'short', scope: 'read', expires_at });
  const { id, token } = made.body as { id: string; token: string };
  const bearer = { authorization: `Bearer ${token}` };
  const { body } = await api.call('POST', '/v1/login-links', undefined, bearer);
  const link = new URL((body as { url: string }).url).searchParams.get('link') ?? '';
  const form = await visit(`/login?link=${link}`);
  const before = await api.call('GET', `/v1/audit?object=tokens/${id}`);
  api.clock.advance(60_000);
  const answer = await send('/login', form.cookies, { form_token: tokenIn(form.text), link });
  expect([answer.status, answer.cookies['svc-session']]).toEqual([401, undefined]);
  const after = await api.call('GET', `/v1/audit?object=tokens/${id}`);
  expect(after.body).toEqual(before.body);
  const refused = await api.call('GET', '/v1/audit?object=dashboard&limit=1');
  expect(refused.body).toMatchObject({ data: [{ action: 'login', outcome: 'refused', status: 401 }] });
});

test('guesses of links are bounded like guesses of tokens', async () => {
  const form = await visit('/login');
  const guess = (link: string) => send('/login', form.cookies, { form_token: tokenIn(form.text), link });
  const statuses = [];
  for (let index = 0; index < 8; index += 1) statuses.push((await guess(`${index}`.repeat(43))).status);
  expect(statuses.at(-1)).toBe(429);
  expect((await guess('short')).headers.get('retry-after')).toMatch(/^\d+$/);
});

test('guesses of tokens are bounded, and the next valid token still works', async () => {
  const form = await visit('/login');
  const guess = (token: string) =>
    send('/login', form.cookies, { form_token: tokenIn(form.text), token, next: '/' });
  const statuses = [];
  for (let index = 0; index < 8; index += 1) statuses.push((await guess(`guess-${index}`)).status);
  expect(statuses.at(-1)).toBe(429);
  const refused = await guess('guess');
  expect(refused.headers.get('retry-after')).toMatch(/^\d+$/);
  expect((await guess(api.operator)).status).toBe(303);
});
