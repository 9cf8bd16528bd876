import { channelBodies, SECRET } from '../channel-samples.ts';
import { header, VALID } from '../resources.ts';
import { type Ids, World } from './world.ts';

type Body = Readonly<Record<string, unknown>>;

const secretHeader = { ...header, value: `${SECRET}-header` };
const otlp = { otlp_endpoint: 'https://otlp.example/v1', otlp_headers: { 'X-Key': `${SECRET}-otlp` } };

async function monitors(): Promise<Body[]> {
  const target = { target: 'x', comparator: 'contains' };
  return [
    {
      type: 'http',
      ...VALID.svc_http_monitor,
      ...otlp,
      regions: ['hosta-fra', 'hostc-us-west2'],
      description: 'Größe \u{1F6D2}',
      headers: [secretHeader],
      status_code_assertions: [{ target: 200, comparator: 'eq' }],
      body_assertions: [target],
      header_assertions: [{ key: 'X-A', ...target }],
    },
    { type: 'http', ...VALID.svc_http_monitor },
    { type: 'tcp', ...VALID.svc_tcp_monitor, ...otlp },
    {
      type: 'dns',
      ...VALID.svc_dns_monitor,
      record_assertions: [{ record: 'A', target: '192.0.2.1', comparator: 'eq' }],
    },
  ];
}

async function notifications(world: World): Promise<Body[]> {
  const monitor_ids = [await world.monitor()];
  return channelBodies().map((body) => ({ ...body, name: body.provider_type, monitor_ids }));
}

async function pages(): Promise<Body[]> {
  return [
    {
      title: 'a',
      slug: World.unique(),
      custom_domain: `${World.unique()}.example`,
      contact_url: 'mailto:a@example.com',
      access_type: 'password',
      password: `${SECRET}-password`,
    },
    { title: 'a', slug: World.unique(), access_type: 'email-domain', auth_email_domains: ['example.com'] },
  ];
}

async function components(world: World, { page_id }: Ids): Promise<Body[]> {
  const group_id = await world.made(`/v1/status-pages/${page_id}/component-groups`, { name: 'a' });
  return [
    { type: 'monitor', monitor_id: await world.monitor(), group_id, group_order: 1, order: -1 },
    { type: 'static', name: 'a', page_id },
  ];
}

async function incidents(world: World): Promise<Body[]> {
  const { page_id, id } = await world.component();
  const told = { state: 'identified', text: 'Größe\nand more', at: '2025-12-31T00:00:00+01:00' };
  return [
    { title: 'a', impact: 'degraded', page_ids: [page_id], component_ids: [id], ...told },
    { title: 'a', page_ids: [page_id], state: 'resolved', text: 'a' },
  ];
}

async function updates(): Promise<Body[]> {
  return [
    { state: 'monitoring', text: 'a', component_ids: [] },
    { state: 'resolved', text: 'b', at: null },
  ];
}

async function windows(world: World): Promise<Body[]> {
  const { page_id, id } = await world.component();
  const monthly = {
    frequency: 'monthly',
    interval: 2,
    weekdays: ['wed'],
    week: 1,
    until: '2027-01-01T00:00',
  };
  return [
    {
      title: 'a',
      text: 'b',
      starts_at: '2026-03-04T02:00',
      ends_at: '2026-03-04T04:00',
      time_zone: 'Europe/Berlin',
      repeat: monthly,
      monitor_ids: [await world.monitor()],
      page_ids: [page_id],
      component_ids: [id],
    },
    {
      title: 'a',
      starts_at: '2026-03-04T02:00:00Z',
      ends_at: '2026-03-04T04:00:00Z',
      repeat: { frequency: 'weekly', weekdays: null },
      page_ids: [page_id],
    },
  ];
}

/** A body that may replace the subject of its path. */
async function replacement(
  all: Promise<Body[]>,
  keep: (body: Body) => boolean = () => true,
): Promise<Body[]> {
  return (await all).filter(keep);
}

/** Valid bodies by operation. The first request with each of them succeeds. */
const BODIES: Readonly<Record<string, (world: World, ids: Ids) => Promise<Body[]>>> = {
  post_monitors: monitors,
  put_monitors_id: () => replacement(monitors(), ({ type }) => type === 'http'),
  post_monitors_dry_run: monitors,
  post_monitors_id_mute: async ({ api }) => {
    const later = (ms: number) => new Date(api.clock.wall() + ms).toISOString();
    return [{ until: later(3 * 86_400_000).replace('Z', '+01:00') }, { until: later(2 * 86_400_000) }];
  },
  post_monitors_id_what_if: async () => [{ days: 7, retry: 0, degraded_at: 800, regions: ['hosta-fra'] }, {}],
  post_notifications: notifications,
  put_notifications_id: notifications,
  post_status_pages: pages,
  put_status_pages_id: pages,
  patch_status_pages_id_appearance: async () => [{ published: false, theme: 'dark', latency: '7d' }, {}],
  patch_status_pages_id_arrangement: async (world, ids) => {
    const id = await world.made(`/v1/status-pages/${ids.id}/components`, { type: 'static', name: 'a' });
    return [{ components: [{ id, order: 2, group_order: null }] }, { components: [] }];
  },
  post_status_pages_page_id_components: components,
  put_status_pages_page_id_components_id: (world, ids) =>
    replacement(components(world, ids), ({ type }) => type === 'monitor'),
  post_status_pages_page_id_component_groups: async () => [{ name: 'a' }, { name: 'b' }],
  put_status_pages_page_id_component_groups_id: async () => [{ name: 'b' }],
  post_incidents: incidents,
  put_incidents_id: async (world) => [
    { title: 'b', impact: 'down', page_ids: [await world.page()] },
    { title: 'c', page_ids: [await world.page()] },
  ],
  post_incidents_id_acknowledge: async () => [{ note: 'Größe' }, {}],
  post_incidents_incident_id_updates: updates,
  put_incidents_incident_id_updates_id: updates,
  post_maintenance_windows: windows,
  put_maintenance_windows_id: windows,
  post_tokens: async () => [
    { name: 'a', scope: 'read' },
    { name: 'b', scope: 'admin', workspace_id: null, expires_at: null },
  ],
  post_workspaces: async () => [{ name: World.unique() }, { name: World.unique() }],
};

/**
 * Returns the valid bodies of an operation.
 *
 * @throws Error for an operation that has a body and no entry above. Add an entry for it
 */
export async function bodiesOf(id: string, world: World, ids: Ids): Promise<readonly Body[]> {
  const make = BODIES[id];
  if (make === undefined) throw new Error(`test/support/contract/bodies.ts has no body for ${id}`);
  return make(world, ids);
}
