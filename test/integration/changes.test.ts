/** Changes of the declaration while checks run and incidents are open, by API and by file. */
import type { ServerResponse } from 'node:http';
import type { Region } from '@svc/shared/regions.ts';
import { describe, expect, test } from 'vitest';
import { DeclareByApi, type Resources } from '../support/declare-by-api.ts';
import { holdRequests } from '../support/held-requests.ts';
import type { LocalService } from '../support/local-service.ts';
import { type Opened, openedIn, receiverIn, serviceIn, targetIn } from '../support/opened.ts';

const REGIONS: readonly Region[] = ['hosta-fra', 'hostb-par', 'hostc-us-east4'];

type Declare = (resources: Resources) => Promise<void>;
type Started = { service: LocalService; declare: Declare };
type Start = (opened: Opened, resources: Resources) => Promise<Started>;

const byFile: Start = async (opened, declared) => {
  const service = await serviceIn(opened, { regions: REGIONS, declared });
  return { service, declare: (resources) => service.reload(resources) };
};

const byApi: Start = async (opened, resources) => {
  const service = await serviceIn(opened, { regions: REGIONS, declared: {} });
  const api = new DeclareByApi(service);
  await api.declare(resources);
  return { service, declare: (next) => api.declare(next) };
};

const monitorOf = (url: string, attributes: object = {}) => ({
  name: 'Web',
  url,
  periodicity: '30s',
  active: true,
  retry: 0,
  // No agent gives up a request while it is held (`holdRequests`).
  timeout: 120_000,
  regions: REGIONS,
  ...attributes,
});

const hookOf = (url: string, isLinked = true) => ({
  name: 'Hook',
  provider_type: 'webhook',
  webhook: { endpoint: url },
  monitor_ids: isLinked ? [`\${svc_http_monitor.web.id}`] : [],
});

const declaration = (monitor: object | null, hooks: Record<string, object>): Resources => ({
  svc_http_monitor: monitor === null ? {} : { web: monitor },
  svc_notification: hooks,
});

const failing = (response: ServerResponse) => {
  response.statusCode = 503;
  response.end();
};
const well = (response: ServerResponse) => response.end('ok');

type ResultRow = { slot: number; region: string; outcome: string; version: number };

const resultsOf = (service: LocalService, id: number, version: number) =>
  service.query<ResultRow>(
    "SELECT slot, region, outcome, version FROM results WHERE monitor_id = ? AND version = ? AND outcome <> 'not_run' ORDER BY slot, region",
    id,
    version,
  );

/**
 * Resolves with the id of the monitor when it is active and each region has reported the newest slot. Waiting
 * for all is necessary, because a majority decides a slot while the check of another region may still run.
 */
async function checkedByAll(service: LocalService): Promise<number> {
  await service.changed('Web', 'active');
  const id = await service.idOf('Web');
  await service.until(async () => {
    const results = await resultsOf(service, id, 1);
    const newest = results.at(-1)?.slot;
    return results.filter(({ slot }) => slot === newest).length === REGIONS.length;
  });
  return id;
}

const statusesIn = (requests: readonly { json: unknown }[]) =>
  requests.map(({ json }) => (json as { status: string }).status);

describe.concurrent.each([
  { way: 'svc.yaml', start: byFile },
  { way: 'the HTTP API', start: byApi },
])('changed by $way', ({ start }) => {
  describe('in the middle of a check', () => {
    test('another URL: votes end, results for the old one are recorded but never vote', async (context) => {
      const opened = openedIn(context);
      const web = await targetIn(opened);
      const hook = await receiverIn(opened);
      const hooks = { hook: hookOf(hook.url) };
      const { service, declare } = await start(opened, declaration(monitorOf(`${web.url}/old`), hooks));
      const id = await checkedByAll(service);
      const seen = service.transitions.length;
      const requests = holdRequests(service, web, '/old');
      await requests.areHeld(REGIONS.length);

      await declare(declaration(monitorOf(`${web.url}/new`), hooks));
      expect(await service.changed('Web', 'unknown', seen)).toMatchObject({
        from: 'active',
        reason: 'probe-changed',
      });
      requests.release(failing);
      await service.until(
        async () =>
          (await resultsOf(service, id, 1)).filter(({ outcome }) => outcome === 'failed').length ===
          REGIONS.length,
      );
      await service.changed('Web', 'active', seen);
      await service.decided(id, 1);

      const changes = service.transitions.slice(seen).map(({ to }) => to);
      expect(changes).toEqual(['unknown', 'active']);
      expect(new Set((await resultsOf(service, id, 2)).map(({ outcome }) => outcome))).toEqual(
        new Set(['passed']),
      );
      expect(hook.requests).toHaveLength(0);
    });

    test('deactivated and activated again: results under way never vote', async (context) => {
      const opened = openedIn(context);
      const web = await targetIn(opened);
      const hook = await receiverIn(opened);
      const hooks = { hook: hookOf(hook.url) };
      const on = declaration(monitorOf(`${web.url}/`), hooks);
      const { service, declare } = await start(opened, on);
      const id = await checkedByAll(service);
      const seen = service.transitions.length;
      const requests = holdRequests(service, web, '/');
      await requests.areHeld(REGIONS.length);

      await declare(declaration(monitorOf(`${web.url}/`, { active: false }), hooks));
      expect(await service.changed('Web', 'unknown', seen)).toMatchObject({ reason: 'deactivated' });
      const failed = async () =>
        (await resultsOf(service, id, 1)).filter(({ outcome }) => outcome === 'failed');
      // One region reports while the monitor is inactive, the others after it is active again.
      requests.releaseOne(failing);
      await service.until(async () => (await failed()).length >= 1);
      // This is before the activation, whose first slot comes at once.
      web.answerWith(well);
      await declare(on);
      requests.release(failing);
      await service.until(async () => (await failed()).length === REGIONS.length);
      await service.changed('Web', 'active', seen);
      await service.decided(id, 1);

      expect(service.transitions.slice(seen).map(({ to }) => to)).toEqual(['unknown', 'active']);
      expect(new Set((await failed()).map(({ slot }) => slot)).size).toBe(1);
      expect(hook.requests).toHaveLength(0);
    });

    test('deleted: results under way are dropped and counted', async (context) => {
      const opened = openedIn(context);
      const web = await targetIn(opened);
      const hook = await receiverIn(opened);
      const { service, declare } = await start(
        opened,
        declaration(monitorOf(`${web.url}/`), { hook: hookOf(hook.url) }),
      );
      const id = await checkedByAll(service);
      const requests = holdRequests(service, web, '/');
      await requests.areHeld(REGIONS.length);
      await declare(declaration(null, { hook: hookOf(hook.url, false) }));
      requests.release(failing);
      const dropped = 'svc_results_dropped_total{reason="unknown-monitor"}';
      await service.until(async () => (await service.metric(dropped)) === REGIONS.length);
      expect(
        await service.query("SELECT * FROM results WHERE monitor_id = ? AND outcome = 'failed'", id),
      ).toEqual([]);
      await service.until(async () => (await service.metric('svc_jobs_in_flight')) === 0);
      expect(hook.requests).toHaveLength(0);
    });
  });

  describe('in the middle of an incident', () => {
    test('another URL: an announced error is not announced again, but its end is', async (context) => {
      const opened = openedIn(context);
      const web = await targetIn(opened);
      const hook = await receiverIn(opened);
      const hooks = { hook: hookOf(hook.url) };
      web.answerWith((response, path) => (path === '/good' ? well(response) : failing(response)));
      const { service, declare } = await start(opened, declaration(monitorOf(`${web.url}/bad`), hooks));
      await hook.received(1);
      const seen = service.transitions.length;
      await declare(declaration(monitorOf(`${web.url}/as-bad`), hooks));
      await service.changed('Web', 'unknown', seen);
      await service.changed('Web', 'error', seen);
      await service.decided(await service.idOf('Web'), 1);
      expect(hook.requests).toHaveLength(1);

      await declare(declaration(monitorOf(`${web.url}/good`), hooks));
      await hook.received(2);
      await service.decided(await service.idOf('Web'), 1);
      expect(statusesIn(hook.requests)).toEqual(['error', 'recovered']);
      expect(hook.requests[1]?.json).toMatchObject({ monitor: { url: `${web.url}/good` } });
      expect(await service.query('SELECT closure FROM incidents WHERE closed_at IS NOT NULL')).toEqual([
        { closure: null },
      ]);
    });

    test('deactivated: the incident ends without an alert; activated while still down: a new incident', async (context) => {
      const opened = openedIn(context);
      const web = await targetIn(opened);
      const hook = await receiverIn(opened);
      const hooks = { hook: hookOf(hook.url) };
      const on = declaration(monitorOf(web.url), hooks);
      web.answerWith(failing);
      const { service, declare } = await start(opened, on);
      await hook.received(1);
      let seen = service.transitions.length;
      await declare(declaration(monitorOf(web.url, { active: false }), hooks));
      expect(await service.changed('Web', 'unknown', seen)).toMatchObject({ reason: 'deactivated' });
      expect(await service.query('SELECT closure FROM incidents')).toEqual([
        { closure: 'monitor-deactivated' },
      ]);
      expect(hook.requests).toHaveLength(1);

      await declare(on);
      await hook.received(2);
      expect(statusesIn(hook.requests)).toEqual(['error', 'error']);
      seen = service.transitions.length;
      await declare(declaration(monitorOf(web.url, { active: false }), hooks));
      web.answerWith(well);
      await declare(on);
      await service.changed('Web', 'active', seen);
      await service.decided(await service.idOf('Web'), 1);
      expect(hook.requests).toHaveLength(2);
    });

    test('unlinked: the channel gets nothing more; linked again: it gets the current status at once', async (context) => {
      const opened = openedIn(context);
      const web = await targetIn(opened);
      const [first, second] = [await receiverIn(opened), await receiverIn(opened)];
      const monitor = monitorOf(web.url, { degraded_at: 2_000 });
      const hooks = (isFirstLinked: boolean, isSecondLinked: boolean) =>
        declaration(monitor, {
          first: hookOf(first.url, isFirstLinked),
          second: hookOf(second.url, isSecondLinked),
        });
      web.answerWith(failing);
      const { service, declare } = await start(opened, hooks(true, false));
      await first.received(1);
      const id = await service.idOf('Web');
      expect(second.requests).toHaveLength(0);

      // The link itself causes the alert, not a later slot.
      await declare(hooks(false, true));
      const told = () =>
        service.query<{ alert: string }>(
          "SELECT alert FROM deliveries WHERE alert LIKE '%error%' ORDER BY id",
        );
      expect(await told()).toHaveLength(2);
      await second.received(1);
      expect(statusesIn(second.requests)).toEqual(['error']);

      web.answerWith((response) => setTimeout(() => response.end('slow'), 2_500));
      await second.received(2);
      expect(statusesIn(second.requests)).toEqual(['error', 'degraded']);
      await declare(hooks(true, true));
      await first.received(2);
      expect(statusesIn(first.requests)).toEqual(['error', 'degraded']);

      await declare(hooks(true, false));
      web.answerWith(well);
      await first.received(3);
      await service.decided(id, 1);
      expect(statusesIn(first.requests)).toEqual(['error', 'degraded', 'recovered']);
      expect(statusesIn(second.requests)).toEqual(['error', 'degraded']);
    });

    test('deleted monitor: its pending alert is still sent; deleted channel: its queue is removed', async (context) => {
      const opened = openedIn(context);
      const web = await targetIn(opened);
      const [kept, dropped] = [await receiverIn(opened), await receiverIn(opened)];
      const hooks = { kept: hookOf(kept.url), dropped: hookOf(dropped.url) };
      let isTaking = false;
      kept.answerWith((_request, response) => {
        response.statusCode = isTaking ? 204 : 500;
        response.end();
      });
      dropped.answerWith((_request, response) => {
        response.statusCode = 500;
        response.end();
      });
      web.answerWith(failing);
      const monitor = monitorOf(web.url);
      const { service, declare } = await start(opened, declaration(monitor, hooks));
      await Promise.all([kept.received(1), dropped.received(1)]);

      await declare(declaration(monitor, { kept: hooks.kept }));
      // Its deliveries are removed later, in small steps.
      const channels = async () =>
        (
          await service.query<{ channels: number }>(
            'SELECT count(DISTINCT notification_id) AS channels FROM deliveries',
          )
        )[0]?.channels;
      await service.until(async () => (await channels()) === 1);
      const before = dropped.requests.length;
      await declare(declaration(null, { kept: hookOf(kept.url, false) }));
      expect(await service.query('SELECT id FROM monitors')).toEqual([]);
      const failedTries = kept.requests.length;
      isTaking = true;
      await kept.received(failedTries + 1);
      await service.until(
        async () => (await service.query("SELECT id FROM deliveries WHERE state = 'delivered'")).length === 1,
      );
      expect(statusesIn(kept.requests)).toEqual(kept.requests.map(() => 'error'));
      expect(new Set(kept.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
      // An alert that was being sent when the channel was removed may still have arrived.
      expect(dropped.requests.length).toBeLessThanOrEqual(before + 1);
      expect(await service.query('SELECT id FROM deliveries')).toHaveLength(1);
    });
  });
});

test('the API changes nothing that the file declares, and answers 409', async (context) => {
  const opened = openedIn(context);
  const web = await targetIn(opened);
  const monitor = monitorOf(web.url);
  const resources = declaration(monitor, { hook: hookOf(web.url) });
  const { service, declare } = await byFile(opened, resources);
  const id = await service.idOf('Web');
  const [channel] = await service.query<{ id: number }>('SELECT id FROM notifications');
  const rows = async () =>
    JSON.stringify([
      await service.query('SELECT * FROM monitors'),
      await service.query('SELECT id, name FROM notifications'),
    ]);
  const before = await rows();
  const hook = { ...hookOf('http://127.0.0.1:9/'), monitor_ids: [String(id)] };
  for (const [method, path, body] of [
    ['PUT', `/v1/monitors/${id}`, { ...monitor, type: 'http', name: 'Other' }],
    ['DELETE', `/v1/monitors/${id}`],
    ['PUT', `/v1/notifications/${channel?.id}`, hook],
    ['DELETE', `/v1/notifications/${channel?.id}`],
  ] as const) {
    const answer = await service.request(method, path, body);
    expect([method, path, answer.status]).toEqual([method, path, 409]);
    expect(JSON.stringify(answer.body)).toContain('declared in svc.json');
  }
  expect(await rows()).toBe(before);
  // A resource that the file does not declare stays.
  const made = await service.request('POST', '/v1/monitors', { ...monitor, type: 'http', name: 'Mine' });
  expect(made.status).toBe(201);
  await declare(declaration(monitorOf(web.url, { name: 'Renamed' }), {}));
  expect(await service.query('SELECT name FROM monitors ORDER BY id')).toEqual([
    { name: 'Renamed' },
    { name: 'Mine' },
  ]);
});
