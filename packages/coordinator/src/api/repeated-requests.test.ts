import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { addRows, rowsOf } from '../../../../test/support/store-rows.ts';
import { attributesIn } from './collection.ts';

const DAY_MS = 24 * 3_600_000;
const MONITOR = { type: 'http', name: 'Shop', url: 'https://shop.example/', periodicity: '1m' };

let api: RunningApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.dispose());

const key = (value: string) => ({ 'idempotency-key': value });
const idOf = ({ body }: { body: unknown }) => (body as { id: string }).id;

describe('an Idempotency-Key', () => {
  test('creates one token, which is not shown twice', async () => {
    const body = { name: 'CI', scope: 'read' };
    const first = await api.call('POST', '/v1/tokens', body, key('token-1'));
    expect(first.status).toBe(201);
    const second = await api.call('POST', '/v1/tokens', body, key('token-1'));
    expect(second).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining(`created token ${idOf(first)}`) },
    });
    expect((await api.call('GET', '/v1/tokens?name=ci')).body).toMatchObject({ total: 1 });
  });

  test('creates one workspace', async () => {
    const first = await api.call('POST', '/v1/workspaces', { name: 'Shops' }, key('workspace-1'));
    const second = await api.call('POST', '/v1/workspaces', { name: 'Shops' }, key('workspace-1'));
    expect(second).toMatchObject({ status: 201, body: first.body });
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    const other = await api.call('POST', '/v1/workspaces', { name: 'Others' }, key('workspace-1'));
    expect(other.status).toBe(409);
  });

  test('of an object that was removed since creates nothing, and the answer says so', async () => {
    const made = await api.call('POST', '/v1/monitors', MONITOR, key('removed-1'));
    await api.call('DELETE', `/v1/monitors/${idOf(made)}`);
    const again = await api.call('POST', '/v1/monitors', MONITOR, key('removed-1'));
    expect(again).toMatchObject({
      status: 409,
      body: {
        detail: `monitor ${idOf(made)}, which the first request with this Idempotency-Key created, was removed since`,
      },
    });
  });

  test('is valid for a day', async () => {
    const named = (name: string) => ({ ...MONITOR, name });
    const first = await api.call('POST', '/v1/monitors', named('First'), key('day-1'));
    api.clock.advance(DAY_MS);
    const second = await api.call('POST', '/v1/monitors', named('First'), key('day-1'));
    expect(idOf(second)).toBe(idOf(first));
    api.clock.advance(1);
    const later = await api.call('POST', '/v1/monitors', named('Later'), key('day-1'));
    expect(later.status).toBe(201);
    expect(idOf(later)).not.toBe(idOf(first));
    const repeated = await api.call('POST', '/v1/monitors', named('Later'), key('day-1'));
    expect(idOf(repeated)).toBe(idOf(later));
  });

  test('expires after a day, also if many do, of which some are deleted at a time', async () => {
    const now = api.clock.wall();
    const old = Array.from({ length: 450 }, (_, index) => ({
      workspace_id: api.workspaceId,
      key: `many-${index}`,
      fingerprint: 'x',
      resource_id: 1,
      created_at: now - DAY_MS - 1_000 + index,
    }));
    await addRows(api.store, 'idempotency_keys', ...old);
    const oldKeys = async () => {
      const keys = await rowsOf(api.store, 'idempotency_keys');
      return keys.filter((row) => row.key.startsWith('many-')).length;
    };
    const made = await api.call('POST', '/v1/monitors', MONITOR, key('many-449'));
    expect(made.status).toBe(201);
    // 200 of the 450 expired keys were deleted. The key that was
    // used again is not among them, and is no longer expired.
    expect(await oldKeys()).toBe(250);
    for (const index of [1, 2]) await api.call('POST', '/v1/monitors', MONITOR, key(`new-${index}`));
    expect(await oldKeys()).toBe(1);
    const again = await api.call('POST', '/v1/monitors', MONITOR, key('many-449'));
    expect(idOf(again)).toBe(idOf(made));
  });

  test('stores nothing from which a secret could be guessed', async () => {
    const page = { title: 'a', slug: 'guess', access_type: 'password', password: '1234' };
    await api.call('POST', '/v1/status-pages', page, key('guess-1'));
    const attributes = attributesIn('svc_status_page', page);
    const rows = await rowsOf(api.store, 'idempotency_keys');
    const kept = rows.find((row) => row.key === 'guess-1')?.fingerprint;
    const request = `/v1/status-pages\n${JSON.stringify(attributes)}`;
    expect(kept).toBe(api.secrets.fingerprint('idempotency_keys.request', request));
  });
});

describe('versions', () => {
  test('an unchanged object is not sent again, but a new status is', async () => {
    const made = await api.call('POST', '/v1/monitors', MONITOR);
    const path = `/v1/monitors/${idOf(made)}`;
    const etag = made.headers.get('etag') ?? '';
    const known = await api.call('GET', path, undefined, { 'if-none-match': `"x", W/${etag}` });
    expect(known).toMatchObject({ status: 304, body: '' });
    expect(known.headers.get('etag')).toBe(etag);
    api.states.set(Number(idOf(made)), { status: 'error', votes: [] });
    const changed = await api.call('GET', path, undefined, { 'if-none-match': etag });
    expect(changed).toMatchObject({ status: 200, body: { status: 'error' } });
    // A change of status does not change the row's version, so a client
    // that read the monitor before the change may still write it.
    const put = await api.call('PUT', path, { ...MONITOR, name: 'New' }, { 'if-match': `"9", ${etag}` });
    expect(put.status).toBe(200);
    const late = await api.call('DELETE', path, undefined, { 'if-match': etag });
    expect(late).toMatchObject({
      status: 412,
      body: { detail: expect.stringContaining('has version 2, not 1') },
    });
    const weak = put.headers.get('etag') ?? '';
    expect(await api.call('DELETE', path, undefined, { 'if-match': `W/${weak}` })).toMatchObject({
      status: 412,
    });
    expect(await api.call('DELETE', path, undefined, { 'if-match': '*' })).toMatchObject({ status: 204 });
  });
});

describe('lists', () => {
  test('are filtered by name and type, with the total of the filtered list', async () => {
    const page = idOf(await api.call('POST', '/v1/status-pages', { title: 'Alpha 100%', slug: 'first' }));
    await api.call('POST', '/v1/status-pages', { title: 'Beta', slug: 'alphabet' });
    await api.call('POST', '/v1/notifications', {
      name: 'Mail',
      provider_type: 'email',
      email: { email: 'a@b.example' },
    });
    await api.call('POST', '/v1/notifications', {
      provider_type: 'sms',
      sms: { phone_number: '+4915112345678' },
    });
    const components = `/v1/status-pages/${page}/components`;
    await api.call('POST', components, { type: 'static', name: 'Needle' });
    await api.call('POST', components, { type: 'static' });
    const groups = `/v1/status-pages/${page}/component-groups`;
    await api.call('POST', groups, { name: 'Needles' });
    await api.call('POST', groups, { name: 'Hay' });
    for (const [path, total] of [
      ['/v1/status-pages?name=ALPHA', 2],
      ['/v1/status-pages?name=alpha&limit=1&offset=1', 2],
      ['/v1/status-pages?name=alpha&limit=100&offset=1', 2],
      ['/v1/status-pages?name=alpha&offset=7', 2],
      ['/v1/status-pages?name=100%25', 1],
      ['/v1/notifications?type=email', 1],
      ['/v1/notifications?type=sms&name=Mail', 0],
      ['/v1/notifications?name=mai', 1],
      [`${components}?name=needle`, 1],
      [`${components}?type=static&limit=1`, 2],
      [`${components}?type=monitor`, 0],
      [`${groups}?name=needle`, 1],
      ['/v1/workspaces?name=DEFAULT', 1],
      ['/v1/tokens?scope=read&name=reader', 1],
    ] as const) {
      expect([path, (await api.call('GET', path)).body]).toMatchObject([path, { total }]);
    }
  });

  test('an object of a page that does not exist is not found, before its body is read', async () => {
    expect(await api.call('POST', '/v1/status-pages/99/components', {})).toMatchObject({ status: 404 });
    expect(await api.call('POST', '/v1/status-pages/99/component-groups', { name: 'a' })).toMatchObject({
      status: 404,
    });
  });
});
