import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXPORTED_BY_DEFAULT, type RunningApi, startApi } from '../../../../test/support/api.ts';

let api: RunningApi;
beforeAll(async () => {
  api = await startApi({ failureRate: { perSecond: 0.001, atOnce: 20 } });
});
afterAll(() => api.dispose());

type Made = { id: string; token: string; created_by: { id: string; name: string } | null };

async function made(body: object, by = api.operator): Promise<Made> {
  const answer = await api.call('POST', '/v1/tokens', body, bearer(by));
  expect(answer).toMatchObject({ status: 201 });
  return answer.body as Made;
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const status = async (method: string, path: string, token: string, body?: unknown) =>
  (await api.call(method, path, body, bearer(token))).status;

describe('scopes', () => {
  const cases = [
    ['GET', '/v1/monitors', [200, 200, 200]],
    ['DELETE', '/v1/monitors/999', [403, 404, 404]],
    ['GET', '/v1/tokens', [403, 403, 200]],
    ['DELETE', '/v1/tokens/999', [403, 403, 404]],
    ['GET', '/v1/workspaces', [403, 403, 200]],
  ] as const;
  test.each(cases)('%s %s answers read, write and admin %j', async (method, path, expected) => {
    const answers = [];
    for (const scope of ['read', 'write', 'admin']) {
      const { token } = await made({ name: scope, scope });
      answers.push(await status(method, path, token));
    }
    expect(answers).toEqual(expected);
  });

  test('an admin creates tokens for its own workspace, and neither sees nor creates others', async () => {
    const workspace = await api.call('POST', '/v1/workspaces', { name: 'team' });
    const { id } = workspace.body as { id: string };
    const admin = await made({ name: 'lead', scope: 'admin', workspace_id: id });
    const own = await made({ name: 'ci', scope: 'write' }, admin.token);
    expect(own.created_by).toEqual({ id: admin.id, name: 'lead' });
    expect(await status('GET', '/v1/monitors', own.token)).toBe(200);
    const seen = await api.call('GET', '/v1/workspaces', undefined, bearer(admin.token));
    expect(seen.body).toMatchObject({ data: [{ name: 'team' }], total: 1 });
    expect(await status('POST', '/v1/workspaces', admin.token, { name: 'other' })).toBe(403);
    const foreign = { name: 'x', scope: 'read', workspace_id: String(api.workspaceId) };
    expect(await status('POST', '/v1/tokens', admin.token, foreign)).toBe(404);

    expect(await status('DELETE', `/v1/tokens/${admin.id}?cascade=true`, admin.token)).toBe(204);
    expect(await status('GET', '/v1/monitors', own.token)).toBe(401);
    expect(await status('GET', '/v1/monitors', admin.token)).toBe(401);
  });
});

test('a token works until it expires, and then says so', async () => {
  const later = new Date(api.clock.wall() + 60_000).toISOString();
  const { token } = await made({ name: 'short', scope: 'read', expires_at: later });
  expect(await status('GET', '/v1/monitors', token)).toBe(200);
  api.clock.advance(60_000);
  const answer = await api.call('GET', '/v1/monitors', undefined, bearer(token));
  expect(answer).toMatchObject({ status: 401, body: { detail: `the token expired at ${later}` } });
});

test('a token does not outlive the expiring token that made it', async () => {
  const instant = (ms: number) => new Date(api.clock.wall() + ms).toISOString();
  const ends = instant(60_000);
  const maker = await made({ name: 'bootstrap', scope: 'admin', expires_at: ends });
  const asked = (members: object) =>
    api.call('POST', '/v1/tokens', { name: 'made', scope: 'admin', ...members }, bearer(maker.token));
  for (const expires_at of [undefined, null, ends]) {
    expect(await asked({ expires_at })).toMatchObject({ status: 201, body: { expires_at: ends } });
  }
  const sooner = instant(30_000);
  expect(await asked({ expires_at: sooner })).toMatchObject({ status: 201, body: { expires_at: sooner } });
  expect(await asked({ expires_at: instant(60_001) })).toMatchObject({
    status: 422,
    body: {
      errors: [
        {
          pointer: '/expires_at',
          message: `must not be after ${ends}, when the token of this request expires`,
        },
      ],
    },
  });
});

test.each(['2000-01-01T00:00:00Z', 'tomorrow', 5])('%j is no expiry', async (expires_at) => {
  const answer = await api.call('POST', '/v1/tokens', { name: 'x', scope: 'read', expires_at });
  expect(answer).toMatchObject({ status: 422, body: { errors: [{ pointer: '/expires_at' }] } });
});

test('a peer that fails often is told to wait, and its valid tokens still work', async () => {
  const answers: number[] = [];
  for (let count = 0; count < 30; count += 1) answers.push(await status('GET', '/v1/monitors', 'guess'));
  expect(new Set(answers)).toEqual(new Set([401, 429]));
  expect(answers.indexOf(429)).toBeGreaterThan(10);
  expect(answers.lastIndexOf(401)).toBeLessThan(answers.indexOf(429));
  const refused = await api.call('GET', '/v1/monitors', undefined, bearer('guess'));
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(await status('GET', '/v1/monitors', api.operator)).toBe(200);
});

test('a body that is complete only after its token was revoked creates no token', async () => {
  const { id, token } = await made({ name: 'stolen', scope: 'admin' });
  const headers = { ...bearer(token), 'content-type': 'application/json', expect: '100-continue' };
  const upload = request(`${api.url}/v1/tokens`, { method: 'POST', headers });
  const answered = once(upload, 'response') as Promise<[IncomingMessage]>;
  upload.flushHeaders();
  await once(upload, 'continue');
  expect(await status('DELETE', `/v1/tokens/${id}?cascade=true`, api.operator)).toBe(204);
  upload.end(JSON.stringify({ name: 'next', scope: 'admin' }));
  const [answer] = await answered;
  answer.resume();
  expect(answer.statusCode).toBe(401);
});

test('the test of an export hides the default endpoint from everybody but the operator', async () => {
  const monitor = { type: 'http', name: EXPORTED_BY_DEFAULT, url: 'https://example.com/', periodicity: '1m' };
  const { body } = await api.call('POST', '/v1/monitors', monitor);
  const path = `/v1/monitors/${(body as { id: string }).id}/otlp-test`;
  const { token } = await made({ name: 'ci', scope: 'write' });
  const answer = await api.call('POST', path, undefined, bearer(token));
  expect(answer).toMatchObject({ status: 200, body: { endpoint: 'the default of the coordinator' } });
  expect(JSON.stringify(answer.body)).not.toContain('otlp.example.com');
  const shown = await api.call('POST', path);
  expect(shown).toMatchObject({ status: 200, body: { endpoint: 'https://otlp.example.com/v1/metrics' } });
});
