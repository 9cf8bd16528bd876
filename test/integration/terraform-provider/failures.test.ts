import type { TerraformObject } from '@svc/terraform-provider/value.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../support/api.ts';
import { type ApiProxy, startApiProxy, type Treatment } from '../../support/api-proxy.ts';
import { freePort } from '../../support/free-port.ts';
import { startReceiver } from '../../support/receiver.ts';
import { configuredProvider, errorOf } from '../../support/svc-provider.ts';

let api: RunningApi;
let proxy: ApiProxy;

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.dispose());
beforeEach(async () => {
  proxy = await startApiProxy(api.url);
});
afterEach(() => proxy.close());

const MONITOR = { name: 'API', url: 'https://api.example.com', periodicity: '1m' };

const monitors = (options?: Parameters<typeof configuredProvider>[2]) => {
  const svc = configuredProvider(proxy.url, api.operator, options);
  return { svc, monitor: svc.resource('svc_http_monitor') };
};

/** Treats the first requests of a method in this way. The others pass. */
function treatFirst(method: string, treatment: Treatment, count = 1): void {
  let left = count;
  proxy.treat((request) => {
    if (request.method !== method || left === 0) return 'pass';
    left -= 1;
    return treatment;
  });
}

async function monitorsNamed(name: string): Promise<unknown[]> {
  const { body } = await api.call('GET', `/v1/monitors?name=${name}&limit=100`);
  return (body as { data: unknown[] }).data;
}

const html = (status: number) => ({
  status,
  headers: { 'content-type': 'text/html' },
  body: '<html></html>',
});

describe('failures of the network', () => {
  test.each([
    ['429 with Retry-After', { status: 429, headers: { 'retry-after': '3' } }],
    ['500', { status: 500 }],
    ['502 of a proxy', html(502)],
    ['503 with a date', { status: 503, headers: { 'retry-after': new Date().toUTCString() } }],
    ['504', html(504)],
  ])('every operation waits until %s is over', async (_case, trouble) => {
    const { svc, monitor } = monitors();
    treatFirst('POST', trouble, 2);
    const state = await monitor.created({ ...MONITOR, name: 'waited' });
    treatFirst('GET', trouble, 2);
    expect(await monitor.read(state)).toEqual(state);
    treatFirst('PUT', trouble, 2);
    const updated = await monitor.updated(state, { ...MONITOR, name: 'waited', retry: 0 });
    treatFirst('DELETE', trouble, 2);
    expect(await monitor.calls.remove(updated)).toEqual({ state: null, diagnostics: [] });
    expect(svc.retries).toHaveLength(8);
    if (trouble.status === 429) expect(svc.retries[0]!.waitMs).toBe(3_000);
  });

  test('a create whose answer is lost makes exactly one object, and is not tainted', async () => {
    const { svc, monitor } = monitors();
    treatFirst('POST', 'swallow', 2);
    const outcome = await monitor.calls.create(monitor.planned({ ...MONITOR, name: 'swallowed' }));
    expect(outcome.diagnostics).toEqual([]);
    expect(svc.retries).toHaveLength(2);
    expect(await monitorsNamed('swallowed')).toMatchObject([{ id: outcome.state!.id }]);
  });

  test('ten creates whose answers are lost make exactly ten objects', async () => {
    const { monitor } = monitors();
    const seen = new Map<string, number>();
    treatFirst('POST', 'swallow', 10);
    const states = await Promise.all(
      Array.from({ length: 10 }, (_none, index) => monitor.created({ ...MONITOR, name: `lost-${index}` })),
    );
    for (const { id } of states) seen.set(String(id), 1);
    expect(seen.size).toBe(10);
    expect(await monitorsNamed('lost-')).toHaveLength(10);
  });

  test.each([
    ['is no JSON', 'oops'],
    ['has no id', '{"name":"x"}'],
    ['is no object', '[]'],
  ])('a create whose answer %s keeps the object, with an error', async (_case, body) => {
    const { monitor } = monitors();
    treatFirst('POST', { body });
    const outcome = await monitor.calls.create(monitor.planned({ ...MONITOR, name: 'unseen' }));
    expect(errorOf(outcome).detail).toContain('not from the svc API');
    const found = (await monitorsNamed('unseen')) as { id: string }[];
    expect(found.map(({ id }) => id)).toContain(outcome.state!.id);
    expect(Object.keys(outcome.state!).sort()).toEqual(Object.keys(monitor.config({})).sort());
    expect(await monitor.calls.remove(outcome.state!)).toEqual({ state: null, diagnostics: [] });
  });

  test('a removal whose answer is lost has succeeded', async () => {
    const { monitor } = monitors();
    const state = await monitor.created(MONITOR);
    treatFirst('DELETE', 'swallow');
    expect(await monitor.calls.remove(state)).toEqual({ state: null, diagnostics: [] });
  });

  test.each([
    ['500', { status: 500 }],
    ['a page that was not found', html(404)],
    ['a page that demands a login', html(401)],
    ['a page instead of JSON', html(200)],
    ['a redirect', { status: 302, headers: { location: 'https://login.example.com' } }],
    ['another object', { body: '{"id":"123456"}' }],
    ['no object', { body: 'null' }],
  ] as [string, Treatment][])('%s never means that an object is gone', async (_case, trouble) => {
    const { monitor } = monitors();
    const state = await monitor.created(MONITOR);
    proxy.treat(() => trouble);
    for (const outcome of [await monitor.calls.read(state), await monitor.calls.update(state, state)]) {
      expect(outcome.state).toEqual(state);
      errorOf(outcome);
    }
    if (typeof trouble === 'object' && 'status' in trouble) {
      const outcome = await monitor.calls.remove(state);
      expect(outcome.state).toEqual(state);
      errorOf(outcome);
    }
  });

  test('only 204 means that an object was removed', async () => {
    const { monitor } = monitors();
    const state = await monitor.created(MONITOR);
    treatFirst('DELETE', { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' });
    const outcome = await monitor.calls.remove(state);
    expect(outcome.state).toEqual(state);
    expect(errorOf(outcome).detail).toContain('not from the svc API');
  });

  test('an unknown path of the server never means that all objects are gone', async () => {
    const { monitor } = monitors();
    const state = await monitor.created(MONITOR);
    const elsewhere = configuredProvider(`${proxy.url}/api`, api.operator).resource('svc_http_monitor');
    for (const outcome of [await elsewhere.calls.read(state), await elsewhere.calls.remove(state)]) {
      expect(outcome.state).toEqual(state);
      expect(errorOf(outcome).detail).toContain('the API has no such path');
      expect(errorOf(outcome).detail).toContain(`The base URL ${proxy.url}/api comes from`);
    }
  });
});

describe('what the API refuses', () => {
  test('a slug that is taken points at the slug', async () => {
    const pages = monitors().svc.resource('svc_status_page');
    const first = await pages.created({ title: 'One', slug: 'taken' });
    const second = await pages.created({ title: 'Two', slug: 'free' });
    const refused = (detail: RegExp) => ({
      severity: 'error',
      path: ['slug'],
      detail: expect.stringMatching(detail),
    });
    const created = await pages.calls.create(pages.planned({ title: 'Three', slug: 'taken' }));
    expect(created).toMatchObject({
      state: null,
      diagnostics: [refused(/another status page has this slug\.$/)],
    });
    // Only a page that existed before may be part of an exchange of slugs.
    const updated = await pages.calls.update(second, pages.planned({ title: 'Two', slug: 'taken' }, second));
    expect(updated).toMatchObject({
      state: second,
      diagnostics: [refused(/another status page has this slug\. .* in the same apply, apply again\./)],
    });
    for (const page of [first, second]) await pages.calls.remove(page);
  });

  test('an error that only the API can find points at the attribute', async () => {
    const { svc } = monitors();
    const channels = svc.resource('svc_notification');
    const planned = channels.planned({
      provider_type: 'webhook',
      webhook: [{ endpoint: 'not a url', headers: [{ key: 'Host', value: 'x' }] }],
    });
    const { state, diagnostics } = await channels.calls.create(planned);
    expect(state).toBeNull();
    expect(diagnostics.map(({ path }) => path)).toEqual([
      ['webhook', 0, 'endpoint'],
      ['webhook', 0, 'headers', 0, 'key'],
    ]);
    const unknown = await channels.calls.create(
      channels.planned({
        provider_type: 'email',
        email: [{ email: 'a@example.com' }],
        monitor_ids: ['999999'],
      }),
    );
    expect(errorOf(unknown)).toMatchObject({
      path: ['monitor_ids'],
      summary: 'Cannot create the svc_notification',
    });
    expect(errorOf(unknown).detail).toMatch(
      /^monitor_ids: there is no monitor 999999\. It was deleted, or belongs to another workspace than the token, /,
    );
  });

  test('an error for a missing page points at the page', async () => {
    const components = monitors().svc.resource('svc_status_page_component');
    const outcome = await components.calls.create(components.planned({ page_id: '999999', type: 'static' }));
    expect(outcome.state).toBeNull();
    expect(errorOf(outcome)).toMatchObject({ path: ['page_id'] });
    expect(errorOf(outcome).detail).toContain('there is no status page 999999');
  });

  test('a group of another page points at the group', async () => {
    const { svc } = monitors();
    const page = await svc.resource('svc_status_page').created({ title: 'Groupless', slug: 'groupless' });
    const components = svc.resource('svc_status_page_component');
    const outcome = await components.calls.create(
      components.planned({ page_id: page.id!, type: 'static', group_id: '999999' }),
    );
    expect(errorOf(outcome)).toMatchObject({
      path: ['group_id'],
      detail: 'group_id: there is no component group 999999.',
    });
    await svc.resource('svc_status_page').calls.remove(page);
  });

  test('objects of the declared file', async () => {
    const id = await api.configuration.transaction(
      { workspaceId: api.workspaceId, actor: 'file' },
      async (change) =>
        change.create(
          'svc_status_page_component_group',
          {
            page_id: String(
              await change.create(
                'svc_status_page',
                {
                  title: 'Declared',
                  slug: 'declared',
                  description: null,
                  homepage_url: null,
                  contact_url: null,
                  icon: null,
                  custom_domain: null,
                  access_type: 'public',
                  password: null,
                  auth_email_domains: null,
                },
                { localName: 'main' },
              ),
            ),
            name: 'Declared',
          },
          { localName: 'group' },
        ),
    );
    const { body } = await api.call('GET', '/v1/status-pages?limit=100');
    const page = (body as { data: { id: string; slug: string }[] }).data.find(
      ({ slug }) => slug === 'declared',
    );
    const groups = monitors().svc.resource('svc_status_page_component_group');
    const state = await groups.imported(`${page?.id}/${id}`);
    const planned = groups.planned({ page_id: page!.id, name: 'Other' }, state);
    const read = await groups.calls.read(state);
    expect(read.diagnostics).toMatchObject([
      {
        severity: 'warning',
        summary: 'A component group belongs to the declared file',
        detail: expect.stringContaining('is declared in monitors.yaml as "group"'),
      },
    ]);
    for (const outcome of [await groups.calls.update(state, planned), await groups.calls.remove(state)]) {
      expect(outcome.state).toEqual(state);
      expect(errorOf(outcome).detail).toContain('is declared in monitors.yaml as "group"');
    }
  });
});

describe('tokens', () => {
  test('a read token keeps the secrets of the state, and cannot write', async () => {
    const writing = configuredProvider(api.url, api.operator);
    const reading = configuredProvider(api.url, api.reader);
    const states: [string, TerraformObject][] = [];
    for (const [kind, given] of [
      [
        'svc_http_monitor',
        { ...MONITOR, headers: [{ key: 'X-A', value: 'secret' }], otlp_headers: { a: 'secret' } },
      ],
      [
        'svc_notification',
        { provider_type: 'incident_b', incident_b: [{ api_key: 'secret', region: 'us' }] },
      ],
      [
        'svc_notification',
        {
          provider_type: 'webhook',
          webhook: [
            { endpoint: 'https://example.com', headers: [{ key: 'Authorization', value: 'secret' }] },
          ],
        },
      ],
      ['svc_status_page', { title: 'a', slug: 'secret', access_type: 'password', password: 'secret' }],
    ] as const) {
      states.push([kind, await writing.resource(kind).created(given as never)]);
    }
    for (const [kind, state] of states) {
      const resource = reading.resource(kind);
      expect(await resource.read(state)).toEqual(state);
      const outcome = await resource.calls.remove(state);
      expect(outcome.state).toEqual(state);
      expect(errorOf(outcome).detail).toMatch(/argument api_token of the provider block, has scope read/);
      await writing.resource(kind).calls.remove(state);
    }
    const created = await reading
      .resource('svc_http_monitor')
      .calls.create(reading.resource('svc_http_monitor').planned(MONITOR));
    expect(created.state).toBeNull();
    expect(errorOf(created).detail).toContain('has scope read');
  });

  test('a wrong token is named by its origin, never by its value', async () => {
    const { monitor } = monitors();
    const state = await monitor.created(MONITOR);
    const wrong = configuredProvider(api.url, 'wrong-token-of-the-tests');
    for (const outcome of [
      await wrong.resource('svc_http_monitor').calls.read(state),
      await wrong.resource('svc_http_monitor').calls.update(state, state),
      await wrong.resource('svc_http_monitor').calls.remove(state),
      await wrong.resource('svc_http_monitor').calls.create(monitor.planned(MONITOR)),
    ]) {
      expect(errorOf(outcome).detail).toContain('the argument api_token of the provider block');
      expect(JSON.stringify(outcome.diagnostics)).not.toContain('wrong-token');
    }
  });
});

describe('wrong addresses', () => {
  test('another web server', async () => {
    const server = await startReceiver();
    server.answerWith((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end('<html></html>');
    });
    const { resource } = configuredProvider(server.url, api.operator);
    const monitor = resource('svc_http_monitor');
    const outcome = await monitor.calls.create(monitor.planned(MONITOR));
    expect(outcome.state).toBeNull();
    expect(errorOf(outcome).detail).toContain('is not from the svc API');
    expect(errorOf(outcome).detail).toContain(
      `The base URL ${server.url} comes from the argument base_url of the provider block.`,
    );
    await server.close();
  });

  test.each([
    ['200 and JSON', 200, '{"status":"ok"}'],
    ['204', 204, ''],
  ])(
    'a server that answers everything with %s removed nothing, and is asked to remove nothing',
    async (_case, status, body) => {
      const server = await startReceiver();
      server.answerWith((_request, response) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(body);
      });
      const monitor = configuredProvider(server.url, api.operator).resource('svc_http_monitor');
      const { state } = monitor.calls.import('5');
      const outcome = await monitor.calls.remove(state!);
      expect(outcome.state).toEqual(state);
      expect(errorOf(outcome).detail).toContain('is not from the svc API');
      expect(server.requests.map(({ method }) => method)).toEqual(['GET']);
      await server.close();
    },
  );

  test('a closed port is given up after a while, and only once', async () => {
    const closed = configuredProvider(`http://127.0.0.1:${await freePort()}`, api.operator);
    const monitor = closed.resource('svc_http_monitor');
    const { state } = monitor.calls.import('5');
    const outcome = await monitor.calls.read(state!);
    expect(outcome.state).toEqual(state);
    expect(errorOf(outcome).detail).toContain('ECONNREFUSED');
    expect(closed.clock.monotonic()).toBeGreaterThan(10_000);
    const waited = closed.clock.monotonic();
    closed.clock.advance(20_000);
    errorOf(await monitor.calls.read(state!));
    expect(closed.clock.monotonic()).toBe(waited + 20_000);
  });
});

describe('Ctrl-C', () => {
  test('ends a back-off', async () => {
    const { svc, monitor } = monitors({ waits: 'by-hand' });
    proxy.treat(() => ({ status: 429 }));
    const retry = svc.retry();
    const creating = monitor.calls.create(monitor.planned({ ...MONITOR, name: 'stopped' }));
    await retry;
    svc.provider.stop();
    const outcome = await creating;
    expect(outcome.state).toBeNull();
    expect(errorOf(outcome).detail).toContain('cancelled');
    expect(await monitorsNamed('stopped')).toEqual([]);
    expect(svc.clock.pendingTimers).toBe(0);
  });

  test('ends a read', async () => {
    const { svc, monitor } = monitors();
    const state = await monitor.created(MONITOR);
    const held = Promise.withResolvers<void>();
    proxy.treat(() => ({ hold: held.promise }));
    const before = proxy.requests.length;
    const reading = monitor.calls.read(state);
    await proxy.received(before + 1);
    svc.provider.stop();
    const outcome = await reading;
    expect(outcome.state).toEqual(state);
    errorOf(outcome);
    held.resolve();
  });

  test('lets a create that is under way finish', async () => {
    const { svc, monitor } = monitors();
    const held = Promise.withResolvers<void>();
    treatFirst('POST', { hold: held.promise });
    const creating = monitor.calls.create(monitor.planned({ ...MONITOR, name: 'finished' }));
    await proxy.received(1);
    svc.provider.stop();
    held.resolve();
    const outcome = await creating;
    expect(outcome.diagnostics).toEqual([]);
    expect(await monitorsNamed('finished')).toMatchObject([{ id: outcome.state!.id }]);
  });

  test('lets a create whose answer was lost find out what it created', async () => {
    const { svc, monitor } = monitors({ waits: 'by-hand' });
    treatFirst('POST', 'swallow');
    const retry = svc.retry();
    const creating = monitor.calls.create(monitor.planned({ ...MONITOR, name: 'found-out' }));
    await retry;
    svc.provider.stop();
    svc.clock.advance(250);
    const outcome = await creating;
    expect(outcome.diagnostics).toEqual([]);
    expect(await monitorsNamed('found-out')).toMatchObject([{ id: outcome.state!.id }]);
  });

  test('is forgotten at the next configuration, because a process may serve another run', async () => {
    const { svc, monitor } = monitors();
    svc.provider.stop();
    errorOf(await monitor.calls.create(monitor.planned(MONITOR)));
    svc.provider.configure({ api_token: api.operator, base_url: proxy.url }, '1.11.4');
    expect((await monitor.created(MONITOR)).id).toMatch(/^\d+$/);
  });
});

test('requests tell the API the versions of provider and Terraform', async () => {
  const server = await startReceiver();
  const svc = configuredProvider(server.url, api.operator);
  await svc.provider.dataSources.svc_monitors!.read({ limit: null, offset: null, monitors: null });
  expect(server.requests[0]?.headers['user-agent']).toBe(
    'terraform-provider-svc/0.0.0-test terraform/1.11.4',
  );
  await server.close();
});
