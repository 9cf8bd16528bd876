import { describe, expect, test } from 'vitest';
import { a, DnsTestServer } from '../support/dns-server.ts';
import { openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';

const REGIONS = ['hosta-fra', 'hostb-par', 'hostc-us-east4'] as const;

const monitorOf = (attributes: object) => ({ periodicity: '30s', active: true, retry: 0, ...attributes });

const hookOf = (url: string, ...monitors: string[]) => ({
  name: 'Hook',
  provider_type: 'webhook',
  webhook: { endpoint: url, headers: [{ key: 'X-Shared-Secret', value: 'hunter2' }] },
  monitor_ids: monitors.map((monitor) => `\${${monitor}.id}`),
});

type TransitionList = {
  data: { from: string; to: string; reason: string; votes: { region: string; outcome: string }[] }[];
};

describe.concurrent('from the declared file to the webhook', () => {
  test('down, slow and back: one error, one degraded, one recovered, in order, as specified', async (context) => {
    const opened = openedIn(context);
    const web = await targetIn(opened);
    const hook = await receiverIn(opened);
    const dns = await DnsTestServer.start(() => ({ records: [a('example.test', '192.0.2.7')] }));
    opened.push({ close: () => dns.close() });
    const service = await serviceIn(opened, {
      regions: REGIONS,
      dnsServers: [`127.0.0.1:${dns.port}`],
      declared: {
        svc_http_monitor: {
          web: monitorOf({ name: 'Web', url: `${web.url}/health`, degraded_at: 2_000, regions: REGIONS }),
        },
        svc_tcp_monitor: {
          port: monitorOf({ name: 'Port', uri: `127.0.0.1:${web.port}`, regions: REGIONS }),
        },
        svc_dns_monitor: {
          name: monitorOf({
            name: 'Name',
            uri: 'example.test',
            regions: REGIONS,
            record_assertions: [{ record: 'A', target: '192.0.2.7', comparator: 'eq' }],
          }),
        },
        svc_notification: {
          hook: hookOf(hook.url, 'svc_http_monitor.web', 'svc_tcp_monitor.port', 'svc_dns_monitor.name'),
        },
      },
    });
    await Promise.all(['Web', 'Port', 'Name'].map((name) => service.changed(name, 'active')));

    web.answerWith((response) => {
      response.statusCode = 503;
      response.end('down');
    });
    const [error] = await hook.received(1);
    const id = await service.idOf('Web');
    expect(error).toMatchObject({ method: 'POST', path: '/' });
    expect(error?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-shared-secret': 'hunter2',
    });
    expect(error?.json).toEqual({
      monitor: { id, name: 'Web', url: `${web.url}/health` },
      cronTimestamp: expect.any(Number),
      status: 'error',
      statusCode: 503,
      latency: expect.any(Number),
      errorMessage: expect.stringContaining('503'),
    });

    web.answerWith((response) => setTimeout(() => response.end('slow'), 2_500));
    const [, degraded] = await hook.received(2);
    expect(degraded?.json).toEqual({
      monitor: { id, name: 'Web', url: `${web.url}/health` },
      cronTimestamp: expect.any(Number),
      status: 'degraded',
      statusCode: 200,
      latency: expect.any(Number),
    });

    web.answerWith((response) => response.end('ok'));
    const [, , recovered] = await hook.received(3);
    expect(recovered?.json).toEqual({
      monitor: { id, name: 'Web', url: `${web.url}/health` },
      cronTimestamp: expect.any(Number),
      status: 'recovered',
      statusCode: 200,
      latency: expect.any(Number),
    });
    // For two slots no further alert comes. None came for the healthy monitors.
    await service.decided(id, 2);
    expect(hook.requests).toHaveLength(3);
    const ids = hook.requests.map((request) => request.headers['webhook-id']);
    expect(new Set(ids).size).toBe(3);
    const slots = hook.requests.map((request) => (request.json as { cronTimestamp: number }).cronTimestamp);
    expect(slots).toEqual(slots.toSorted((first, second) => first - second));
  });

  test('down in one region of three causes no alert, and the transitions say why', async (context) => {
    const opened = openedIn(context);
    const web = await targetIn(opened);
    const hook = await receiverIn(opened);
    const service = await serviceIn(opened, {
      regions: REGIONS,
      // In one region the name resolves to an address on which nothing listens.
      names: (region) => ({ 'web.test': [region === 'hostb-par' ? '127.0.0.2' : '127.0.0.1'] }),
      declared: {
        svc_http_monitor: {
          web: monitorOf({ name: 'Web', url: `http://web.test:${web.port}/`, regions: REGIONS }),
        },
        svc_notification: { hook: hookOf(hook.url, 'svc_http_monitor.web') },
      },
    });
    await service.changed('Web', 'active');
    const id = await service.idOf('Web');
    await service.decided(id, 4);
    expect(hook.requests).toHaveLength(0);
    const { data } = await service.get<TransitionList>(`/v1/monitors/${id}/transitions`);
    expect(data).toHaveLength(1);
    expect(data[0]).toMatchObject({ from: 'unknown', to: 'active' });
    const monitor = await service.get<{ status: string; regions_status: { region: string; vote: string }[] }>(
      `/v1/monitors/${id}`,
    );
    expect(monitor.status).toBe('active');
    expect(monitor.regions_status.map(({ region, vote }) => [region, vote])).toEqual([
      ['hosta-fra', 'passed'],
      ['hostb-par', 'failed'],
      ['hostc-us-east4', 'passed'],
    ]);
  });

  test('two regions lost while the third has a fault of its own: `unknown`, and no alert', async (context) => {
    const opened = openedIn(context);
    const web = await targetIn(opened);
    const hook = await receiverIn(opened);
    const service = await serviceIn(opened, {
      regions: REGIONS,
      names: (region) => ({ 'web.test': [region === 'hostc-us-east4' ? '127.0.0.2' : '127.0.0.1'] }),
      declared: {
        svc_http_monitor: {
          web: monitorOf({ name: 'Web', url: `http://web.test:${web.port}/`, regions: REGIONS }),
        },
        svc_notification: { hook: hookOf(hook.url, 'svc_http_monitor.web') },
      },
    });
    await service.changed('Web', 'active');
    const seen = service.transitions.length;
    await service.stopAgent('hosta-fra');
    await service.stopAgent('hostb-par');
    const change = await service.changed('Web', 'unknown', seen);
    expect(change.from).toBe('active');
    await service.decided(await service.idOf('Web'), 2);
    expect(hook.requests).toHaveLength(0);
    const { data } = await service.get<{ data: { region: string; agents: unknown[] }[] }>('/v1/regions');
    const lost = data.filter(({ region }) => region === 'hosta-fra' || region === 'hostb-par');
    expect(lost.map(({ agents }) => agents)).toEqual([[], []]);

    // When the regions are back, the monitor is judged again. Nothing is announced.
    await service.startAgent('hosta-fra');
    await service.startAgent('hostb-par');
    await service.changed('Web', 'active', service.transitions.length);
    expect(hook.requests).toHaveLength(0);
  });

  test('after a restart of the coordinator, nothing is announced twice, and a recovery is announced once', async (context) => {
    const opened = openedIn(context);
    const web = await targetIn(opened);
    const hook = await receiverIn(opened);
    web.answerWith((response) => {
      response.statusCode = 500;
      response.end();
    });
    const service = await serviceIn(opened, {
      regions: REGIONS,
      declared: {
        svc_http_monitor: { web: monitorOf({ name: 'Web', url: web.url, regions: REGIONS }) },
        svc_notification: { hook: hookOf(hook.url, 'svc_http_monitor.web') },
      },
    });
    await hook.received(1);
    await service.stopCoordinator();
    await service.startCoordinator();
    await service.decided(await service.idOf('Web'), 2);
    expect(hook.requests).toHaveLength(1);
    await service.stopCoordinator();
    web.answerWith((response) => response.end('ok'));
    await service.startCoordinator();
    const [, recovered] = await hook.received(2);
    expect(recovered?.json).toMatchObject({ status: 'recovered' });
    await service.decided(await service.idOf('Web'), 2);
    expect(hook.requests).toHaveLength(2);
  });
});
