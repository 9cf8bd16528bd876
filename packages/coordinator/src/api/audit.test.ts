import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { configuredStore, silentLog } from '../../../../test/support/configured-store.ts';
import { rowsOf } from '../../../../test/support/store-rows.ts';
import { hiddenFields, Visitor } from '../../../../test/support/visited-pages.ts';
import { StoreError } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import { createApiCounters } from './api-parts.ts';
import { AuditTrail, RequestAudit } from './audit.ts';

const MONITOR = { type: 'tcp', name: 'Shop', uri: 'shop.example:443', periodicity: '1m' };

type Line = {
  id: string;
  action: string;
  status: number | null;
  object: string;
  outcome: string;
  token: { name: string } | null;
};

let api: RunningApi;
beforeAll(async () => {
  api = await startApi({ failureRate: { perSecond: 1e9, atOnce: 1e9 } });
});
afterAll(() => api.dispose());

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

async function lines(query = '', by = api.operator): Promise<Line[]> {
  const answer = await api.call('GET', `/v1/audit?${query}`, undefined, bearer(by));
  expect(answer).toMatchObject({ status: 200 });
  return (answer.body as { data: Line[] }).data;
}

async function created(path: string, body: object, headers = {}): Promise<{ id: string; token: string }> {
  const answer = await api.call('POST', path, body, headers);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body as { id: string; token: string };
}

describe('a line says who did what, from which address:', () => {
  test('each change', async () => {
    const { id } = await created('/v1/monitors', MONITOR, { 'x-request-id': 'mine' });
    await api.call('PUT', `/v1/monitors/${id}`, { ...MONITOR, name: 'Store' });
    await api.call('DELETE', `/v1/monitors/${id}`);
    const said = await lines(`object=monitors/${id}`);
    // The lines have no status, because each was written in the transaction of its change, before the answer.
    expect(said.map(({ action, outcome, status }) => [action, outcome, status])).toEqual([
      ['remove', 'done', null],
      ['replace', 'done', null],
      ['create', 'done', null],
    ]);
    expect(said.at(-1)).toEqual({
      id: expect.any(String),
      at: api.clock.wall(),
      workspace_id: String(api.workspaceId),
      actor: 'token',
      token: { id: expect.any(String), name: 'SVC_API_TOKEN' },
      action: 'create',
      object: `monitors/${id}`,
      outcome: 'done',
      status: null,
      request_id: 'mine',
      peer: '127.0.0.1',
      detail: null,
    });
  });

  test('a login link, without its secret', async () => {
    const { url } = (await created('/v1/login-links', {})) as unknown as { url: string };
    const [line] = await lines('object=login-links');
    expect(line).toMatchObject({ action: 'create', outcome: 'done', token: { name: 'SVC_API_TOKEN' } });
    expect(JSON.stringify(line)).not.toContain(new URL(url).searchParams.get('link'));
  });

  test('ten login links of a token within a minute, and the refusals after them', async () => {
    const asked = () => api.call('POST', '/v1/login-links', {}, bearer(api.reader));
    for (let made = 0; made < 10; made += 1) expect((await asked()).status).toBe(201);
    const refused = await asked();
    expect(refused).toMatchObject({
      status: 429,
      body: { detail: 'this token made too many login links; try again in 6 s' },
    });
    expect(refused.headers.get('retry-after')).toBe('6');
    expect((await api.call('POST', '/v1/login-links', {})).status).toBe(201);
    api.clock.advance(6_000);
    expect((await asked()).status).toBe(201);
  });

  test('the parts and the appearance of a page, tokens and workspaces', async () => {
    const page = await created('/v1/status-pages', { title: 'a', slug: 'audited' });
    const group = await created(`/v1/status-pages/${page.id}/component-groups`, { name: 'a' });
    await api.call('PATCH', `/v1/status-pages/${page.id}/appearance`, { theme: 'dark' });
    const below = await lines(`object=status-pages/${page.id}`);
    expect(below.map(({ action, object, status }) => `${action} ${object} ${status}`)).toEqual([
      `change status-pages/${page.id}/appearance null`,
      `create status-pages/${page.id}/component-groups/${group.id} null`,
      `create status-pages/${page.id} null`,
    ]);
    const token = await created('/v1/tokens', { name: 'ci', scope: 'read' });
    await api.call('DELETE', `/v1/tokens/${token.id}`);
    expect((await lines(`object=tokens/${token.id}`)).map(({ action, status }) => [action, status])).toEqual([
      ['remove', null],
      ['create', null],
    ]);
    const workspace = await created('/v1/workspaces', { name: 'audited' });
    expect(await lines(`object=workspaces/${workspace.id}`)).toMatchObject([{ status: null }]);
  });

  test('checks, tests and retries', async () => {
    const { id } = await created('/v1/monitors', MONITOR);
    expect((await api.call('POST', `/v1/monitors/${id}/check`)).status).toBe(200);
    await api.call('POST', '/v1/deliveries/999/retry');
    expect(await lines('limit=2')).toMatchObject([
      { action: 'retry', object: 'deliveries/999', outcome: 'refused', status: 404 },
      { action: 'check', object: `monitors/${id}`, outcome: 'done', status: 200 },
    ]);
  });

  test('the settings that made the operator’s token', async () => {
    expect(await lines('object=tokens')).toContainEqual(
      expect.objectContaining({ actor: 'settings', action: 'create', token: null }),
    );
  });

  test('the first request of a token from an address within a day', async () => {
    const { id, token } = await created('/v1/tokens', { name: 'login', scope: 'read' });
    const logins = async () =>
      (await lines(`object=tokens/${id}`)).filter(({ action }) => action === 'login');
    for (const _ of [1, 2]) await api.call('GET', '/v1/monitors', undefined, bearer(token));
    expect(await logins()).toHaveLength(1);
    api.clock.advance(24 * 3_600_000);
    await api.call('GET', '/v1/monitors', undefined, bearer(token));
    expect(await logins()).toHaveLength(2);
  });
});

describe('a line records a refusal:', () => {
  test('a caller without a valid token, without the text of the token', async () => {
    await api.call('GET', '/v1/monitors', undefined, bearer('some-guess'));
    const [line] = await lines('limit=1&outcome=refused');
    expect(line).toMatchObject({
      actor: 'nobody',
      token: null,
      workspace_id: null,
      status: 401,
      action: 'read',
    });
    expect(JSON.stringify(line)).not.toContain('some-guess');
  });

  test('a scope that is too small, and an invalid change', async () => {
    await api.call('DELETE', '/v1/monitors/5', undefined, bearer(api.reader));
    await api.call('POST', '/v1/monitors', { ...MONITOR, periodicity: '2m' });
    expect(await lines('limit=2')).toMatchObject([
      { action: 'create', object: 'monitors', outcome: 'refused', status: 422 },
      { token: { name: 'reader' }, action: 'remove', object: 'monitors/5', outcome: 'refused', status: 403 },
    ]);
  });

  test('in the dashboard: a scope that is too small, a form without its token, and a logout', async () => {
    const session = new Visitor(api.url, { accept: 'text/html' });
    const form = { form_token: 'wrong', token: api.reader };
    expect((await session.ask('/login', { form })).status).toBe(403);
    expect((await session.submit('/login', { token: api.reader })).status).toBe(303);
    const [login] = await lines('limit=1');
    expect(login).toMatchObject({ action: 'login', token: { name: 'reader' } });
    expect((await session.ask('/tokens')).status).toBe(403);
    expect((await session.ask('/monitors/5/delete', { form })).status).toBe(403);
    const { text } = await session.ask('/');
    expect((await session.ask('/monitors/5/delete', { form: hiddenFields(text) })).status).toBe(403);
    expect((await session.ask('/logout', { form })).status).toBe(403);
    expect((await session.ask('/logout', { form: hiddenFields(text) })).status).toBe(303);
    const said = await lines('limit=7');
    const told = said.map(
      ({ action, object, outcome, status }) => `${action} ${object} ${outcome} ${status}`,
    );
    expect(told).toEqual([
      `logout ${login?.object} done null`,
      'send dashboard/logout refused 403',
      'send dashboard/monitors/5/delete refused 403',
      'send dashboard/monitors/5/delete refused 403',
      'open dashboard/tokens refused 403',
      `login ${login?.object} done null`,
      'login dashboard refused 403',
    ]);
    expect(said.map(({ token }) => token?.name ?? null)).toEqual([...Array(6).fill('reader'), null]);
  });

  test('only some of a flood, and the others are counted', async () => {
    const flooded = await startApi({ failureRate: { perSecond: 1e9, atOnce: 1e9 } });
    try {
      for (let count = 0; count < 120; count += 1) {
        await flooded.call('GET', '/v1/monitors', undefined, bearer('guess'));
      }
      const answer = await flooded.call('GET', '/v1/audit?limit=100&outcome=refused');
      const { data, next_cursor } = answer.body as { data: Line[]; next_cursor: string | null };
      expect([data.length, next_cursor]).toEqual([100, null]);
      const { body } = await flooded.call('GET', '/metrics');
      expect(body).toContain('svc_audit_lines_left_out_total{reason="flood"} 20\n');
      expect(body).toContain('svc_api_answers_total{status="401"} 120\n');
    } finally {
      await flooded.dispose();
    }
  });
});

test('an admin sees the lines of its workspace, by cursor; read and write tokens see none', async () => {
  const workspace = await created('/v1/workspaces', { name: 'theirs' });
  const admin = await created('/v1/tokens', { name: 'lead', scope: 'admin', workspace_id: workspace.id });
  await api.call('POST', '/v1/monitors', MONITOR, bearer(admin.token));
  await api.call('POST', '/v1/monitors', MONITOR, bearer(admin.token));
  const first = await api.call('GET', '/v1/audit?limit=2', undefined, bearer(admin.token));
  const { data, next_cursor } = first.body as { data: Line[]; next_cursor: string };
  const rest = await lines(`limit=2&cursor=${next_cursor}`, admin.token);
  expect([...data, ...rest].map(({ action, token }) => [action, token?.name])).toEqual([
    ['create', 'lead'],
    ['create', 'lead'],
    ['login', 'lead'],
  ]);
  const writer = await created('/v1/tokens', { name: 'w', scope: 'write' });
  for (const token of [writer.token, api.reader]) {
    expect((await api.call('GET', '/v1/audit', undefined, bearer(token))).status).toBe(403);
  }
});

test('a flood from many addresses of one IPv6 network is one flood', async () => {
  const parts = await configuredStore();
  try {
    const leftOut = createApiCounters().auditLinesLeftOut;
    const trail = new AuditTrail({ ...parts, log: silentLog, leftOut });
    for (let count = 0; count < 300; count += 1) {
      const peer = `2001:db8::${(count + 1).toString(16)}`;
      const endpoint = { method: 'GET', path: '/v1/monitors', access: 'read' } as const;
      const at = parts.clock.wall();
      new RequestAudit(trail, { endpoint, path: endpoint.path, requestId: 'a', peer, at }).noteAnswer(
        401,
        null,
      );
    }
    await trail.untilWritten();
    expect(await rowsOf(parts.store, 'audit')).toHaveLength(100);
  } finally {
    await parts.dispose();
  }
});

describe('while the database takes no writes', () => {
  /**
   * Makes an audit trail with 1,200 refusals. Its database is locked until the returned function is called.
   */
  async function refusedWhileLocked() {
    const parts = await configuredStore();
    onTestFinished(() => parts.dispose());
    const { store } = parts;
    let isLocked = true;
    const locked: Store = {
      read: store.read,
      work: store.work,
      commit: (steps) => store.commit(steps),
      transaction: async (work) => {
        if (isLocked) throw new StoreError('store-busy', 'the database is locked');
        return store.transaction(work);
      },
      declare: (work) => store.declare(work),
      declarations: 0,
      close: () => store.close(),
    };
    const leftOut = createApiCounters().auditLinesLeftOut;
    const trail = new AuditTrail({ ...parts, store: locked, log: silentLog, leftOut });
    const endpoint = { method: 'GET', path: '/v1/monitors', access: 'read' } as const;
    for (let count = 0; count < 1_200; count += 1) {
      const facts = {
        endpoint,
        path: endpoint.path,
        requestId: `${count}`,
        peer: `10.0.${count % 250}.1`,
        at: 1,
      };
      new RequestAudit(trail, facts).noteAnswer(401, null);
      await parts.clock.advanceSettling(0);
    }
    const unlock = () => {
      isLocked = false;
    };
    return { parts, trail, leftOut, unlock };
  }

  test('lines wait, up to a bound, and are then written in their order', async () => {
    const { parts, trail, leftOut, unlock } = await refusedWhileLocked();
    expect(leftOut.database).toBe(200);
    await parts.clock.advanceSettling(10_000);
    expect(await rowsOf(parts.store, 'audit')).toEqual([]);
    unlock();
    await parts.clock.advanceSettling(1_000);
    await trail.untilWritten();
    const rows = await rowsOf(parts.store, 'audit');
    expect(rows.map(({ request_id: id }) => id)).toEqual(
      Array.from({ length: 1_000 }, (_, index) => `${index}`),
    );
    expect(leftOut.database).toBe(200);
  });

  test('a reader of the trail waits for only one try', async () => {
    const { parts, trail } = await refusedWhileLocked();
    let isSettled = false;
    void trail.untilWritten().then(() => {
      isSettled = true;
    });
    await parts.clock.advanceSettling(1_000);
    expect(isSettled).toBe(true);
  });

  test('the stop of the API does not wait', async () => {
    const { trail, leftOut } = await refusedWhileLocked();
    await trail.close();
    expect(leftOut.database).toBe(1_200);
  });
});
