import type { ResourceKind } from '@svc/shared/resources/registry.ts';

/** The smallest valid input of each kind of resource. */
export const VALID: Record<ResourceKind, Record<string, unknown>> = {
  svc_http_monitor: { name: 'a', url: 'https://example.com', periodicity: '1m' },
  svc_tcp_monitor: { name: 'a', uri: 'example.com:443', periodicity: '1m' },
  svc_dns_monitor: { name: 'a', uri: 'example.com', periodicity: '1m' },
  svc_notification: { provider_type: 'email', email: { email: 'a@example.com' } },
  svc_status_page: { title: 'a', slug: 'a' },
  svc_status_page_component: { page_id: '1', type: 'static' },
  svc_status_page_component_group: { page_id: '1', name: 'a' },
};

/** The default attributes that every monitor has. */
export const MONITOR_DEFAULTS = {
  timeout: 45_000,
  degraded_at: 0,
  retry: 3,
  active: false,
  public: false,
  description: null,
  regions: null,
  quorum: 'majority',
  confirm_after: 1,
  recover_after: 1,
  otlp_endpoint: null,
  otlp_headers: null,
};

/** All optional attributes of an HTTP monitor. */
export const HTTP_MONITOR_DEFAULTS = {
  ...MONITOR_DEFAULTS,
  method: 'GET',
  body: '',
  follow_redirects: true,
  certificate_expiry_days: 0,
  headers: [],
  status_code_assertions: [],
  body_assertions: [],
  header_assertions: [],
};

/** A text of this length. */
export const x = (length: number) => 'x'.repeat(length);
export const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
export const longUrl = (length: number) => `https://example.com/${x(length - 20)}`;
export const longPort = (length: number) => `${`${x(60)}.`.repeat(40)}:443`.slice(-length);
/** The 28 regions, as the format of declarations lists them. */
export const REGION_NAMES =
  'hosta-ams hosta-arn hosta-bom hosta-cdg hosta-dfw hosta-ewr hosta-fra hosta-gru hosta-iad hosta-jnb hosta-lax hosta-lhr hosta-nrt hosta-ord hosta-sjc hosta-sin hosta-syd hosta-yyz hostb-fra hostb-par hostb-sfo hostb-sin hostb-tyo hostb-was hostc-us-west2 hostc-us-east4 hostc-europe-west4 hostc-asia-southeast1'.split(
    ' ',
  );

export const header = { key: 'X-A', value: 'b' };

/** A value for a test's name. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 90 ? `${text.slice(0, 90)}…` : text;
}
