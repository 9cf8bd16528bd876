import type { ApiParts } from '@svc/coordinator/api/api-parts.ts';
import { type RunningApi, startApi } from '../api.ts';
import type { Answer } from './judge.ts';
import { World } from './world.ts';

/** A request for an answer that no mutation causes. */
type Provocation = (world: World) => Promise<Answer>;

/** Name of a monitor without anything to replay. */
export const UNCHECKED = 'Never checked';

const UNEXPORTED = { type: 'tcp', name: 'a', uri: 'a.example:1', periodicity: '1m' };

export const PROVOCATIONS: Readonly<Record<string, Readonly<Record<number, Provocation>>>> = {
  post_monitors: {
    409: usedKey('/v1/monitors', { type: 'tcp', name: 'a', uri: 'a.example:1', periodicity: '1m' }),
  },
  post_notifications: {
    404: absent('/v1/notifications', {
      provider_type: 'email',
      email: { email: 'a@example.com' },
      monitor_ids: ['999999'],
    }),
    409: usedKey('/v1/notifications', { provider_type: 'email', email: { email: 'a@example.com' } }),
  },
  post_status_pages: {
    async 409(world) {
      const body = { title: 'a', slug: World.unique() };
      await world.made('/v1/status-pages', body);
      return world.send({ method: 'POST', path: '/v1/status-pages', body });
    },
  },
  post_status_pages_page_id_components: { 409: usedKeyOnPage('components', { type: 'static' }) },
  post_status_pages_page_id_component_groups: { 409: usedKeyOnPage('component-groups', { name: 'a' }) },
  post_incidents: {
    async 404(world) {
      const body = { title: 'a', page_ids: ['999999'], state: 'resolved', text: 'a' };
      return world.send({ method: 'POST', path: '/v1/incidents', body });
    },
    async 409(world) {
      const body = { page_ids: [await world.page()], state: 'resolved', text: 'a' };
      return usedKeyTwice(world, '/v1/incidents', [
        { ...body, title: 'a' },
        { ...body, title: 'b' },
      ]);
    },
  },
  delete_incidents_id: {
    async 409(world) {
      const recorded = {
        workspace_id: world.workspaceId,
        monitor_id: Number(await world.monitor()),
        opened_at: 1,
      };
      const { id } = await world.api.store.transaction(({ db }) =>
        db
          .insertInto('incidents')
          .values({ ...recorded, key: World.unique() })
          .returning('id')
          .executeTakeFirstOrThrow(),
      );
      return world.send({ method: 'DELETE', path: `/v1/incidents/${id}` });
    },
  },
  post_incidents_incident_id_updates: {
    async 409(world) {
      const path = `/v1/incidents/${(await world.incident()).incident_id}/updates`;
      const body = { state: 'resolved', text: 'a' };
      return usedKeyTwice(world, path, [body, { ...body, text: 'b' }]);
    },
  },
  post_incidents_id_acknowledge: { 409: ofEndedIncident('acknowledge', {}) },
  post_incidents_id_unacknowledge: { 409: ofEndedIncident('unacknowledge') },
  post_maintenance_windows: {
    async 409(world) {
      const times = { starts_at: '2026-01-02T00:00:00Z', ends_at: '2026-01-02T01:00:00Z' };
      const body = { ...times, page_ids: [await world.page()] };
      return usedKeyTwice(world, '/v1/maintenance-windows', [
        { ...body, title: 'a' },
        { ...body, title: 'b' },
      ]);
    },
  },
  post_tokens: {
    404: absent('/v1/tokens', { name: 'a', scope: 'read', workspace_id: '999999' }),
    409: usedKey('/v1/tokens', { name: 'a', scope: 'read' }),
  },
  post_workspaces: {
    409: (world) => world.send({ method: 'POST', path: '/v1/workspaces', body: { name: 'default' } }),
  },
  post_monitors_id_otlp_test: {
    async 409(world) {
      const path = `/v1/monitors/${await world.made('/v1/monitors', { ...UNEXPORTED })}/otlp-test`;
      return world.send({ method: 'POST', path });
    },
  },
  post_monitors_id_what_if: {
    async 409(world) {
      const unchecked = { ...UNEXPORTED, name: UNCHECKED };
      const path = `/v1/monitors/${await world.made('/v1/monitors', unchecked)}/what-if`;
      return world.send({ method: 'POST', path, body: {} });
    },
  },
  put_monitors_id: { 409: declared('PUT', declaredMonitor) },
  delete_monitors_id: {
    async 409(world) {
      const id = await world.monitor();
      const page = await world.page();
      await world.made(`/v1/status-pages/${page}/components`, { type: 'monitor', monitor_id: id });
      return world.send({ method: 'DELETE', path: `/v1/monitors/${id}` });
    },
  },
  put_notifications_id: { 409: declared('PUT', declaredNotification) },
  delete_notifications_id: { 409: declared('DELETE', declaredNotification) },
  put_status_pages_id: { 409: declared('PUT', declaredPage) },
  patch_status_pages_id_arrangement: {
    async 409(world) {
      const [, page, , component] = (await declaredComponent(world)).split('/').slice(2);
      const body = { components: [{ id: component, order: 99, group_order: null }] };
      return world.send({ method: 'PATCH', path: `/v1/status-pages/${page}/arrangement`, body });
    },
  },
  delete_status_pages_id: { 409: declared('DELETE', declaredPage) },
  put_status_pages_page_id_components_id: { 409: declared('PUT', declaredComponent) },
  delete_status_pages_page_id_components_id: { 409: declared('DELETE', declaredComponent) },
  put_status_pages_page_id_component_groups_id: { 409: declared('PUT', declaredGroup) },
  delete_status_pages_page_id_component_groups_id: { 409: declared('DELETE', declaredGroup) },
  post_deliveries_id_retry: {
    async 409(world) {
      const id = await world.delivery('delivered');
      return world.send({ method: 'POST', path: `/v1/deliveries/${id}/retry` });
    },
  },
  delete_tokens_id: {
    async 409(world) {
      const operator = world.api.tokens.list(world.workspaceId).find(({ isOperator }) => isOperator);
      return world.send({ method: 'DELETE', path: `/v1/tokens/${operator?.id}` });
    },
  },
};

/** Documented statuses that no request causes, each with the reason, by operation. */
export const UNPROVOKED: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  get_healthz: { 500: 'it does nothing that could fail' },
};

/** A body that names an object that does not exist. */
function absent(path: string, body: object): Provocation {
  return (world) => world.send({ method: 'POST', path, body });
}

/** Sends two different requests with the same idempotency key. */
async function usedKeyTwice(world: World, path: string, bodies: readonly [object, object]): Promise<Answer> {
  const headers = { 'idempotency-key': World.unique() };
  await world.send({ method: 'POST', path, body: bodies[0], headers });
  return world.send({ method: 'POST', path, body: bodies[1], headers });
}

/** An action on an incident that has ended. */
function ofEndedIncident(action: string, body?: object): Provocation {
  return async (world) => {
    const told = { title: 'a', page_ids: [await world.page()], state: 'resolved', text: 'a' };
    const id = await world.made('/v1/incidents', told);
    const path = `/v1/incidents/${id}/${action}`;
    return world.send({ method: 'POST', path, ...(body === undefined ? {} : { body }) });
  };
}

function usedKey(path: string, body: object): Provocation {
  return async (world) => {
    const headers = { 'idempotency-key': World.unique() };
    await world.send({ method: 'POST', path, body: { ...body, name: 'before' }, headers });
    return world.send({ method: 'POST', path, body, headers });
  };
}

function usedKeyOnPage(collection: string, body: object): Provocation {
  return async (world) => usedKey(`/v1/status-pages/${await world.page()}/${collection}`, body)(world);
}

/** Writes over the API to a resource that the declared file owns. `make` returns its path. */
function declared(method: 'PUT' | 'DELETE', make: (world: World) => Promise<string>): Provocation {
  return async (world) => {
    const path = await make(world);
    const { status, text } = await world.send({ method: 'GET', path });
    if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${text}`);
    const body = JSON.parse(text) as object;
    const changed = { ...body, ...('title' in body ? { title: 'new' } : { name: 'new' }) };
    return world.send({ method, path, ...(method === 'PUT' ? { body: changed } : {}) });
  };
}

async function declaredMonitor(world: World): Promise<string> {
  return `/v1/monitors/${await world.declared('svc_tcp_monitor')}`;
}

async function declaredNotification(world: World): Promise<string> {
  return `/v1/notifications/${await world.declared('svc_notification')}`;
}

async function declaredPage(world: World): Promise<string> {
  return `/v1/status-pages/${await world.declared('svc_status_page', { slug: World.unique() })}`;
}

async function declaredComponent(world: World): Promise<string> {
  const page = await declaredPage(world);
  const page_id = page.split('/').at(-1);
  return `${page}/components/${await world.declared('svc_status_page_component', { page_id })}`;
}

async function declaredGroup(world: World): Promise<string> {
  const page = await declaredPage(world);
  const page_id = page.split('/').at(-1);
  return `${page}/component-groups/${await world.declared('svc_status_page_component_group', { page_id })}`;
}

/** Starts an API whose parts behind it all fail with this error. */
export async function failingApi(error: Error): Promise<RunningApi> {
  const fails = new Proxy(() => undefined, {
    get: () => fails,
    apply: () => {
      throw error;
    },
  }) as never;
  const more: Partial<ApiParts> = {
    rate: { perSecond: 1e9, atOnce: 1e9 },
    store: fails,
    reading: fails,
    configuration: fails,
    maintenance: fails,
    incidents: fails,
    monitors: fails,
    deliveries: fails,
    agents: fails,
    checks: fails,
    exports: fails,
    declaration: fails,
    readiness: fails,
    measurements: fails,
  };
  const api = await startApi(more);
  return Object.assign(api, { tokens: Object.assign(api.tokens, { list: fails, revoke: fails }) });
}
