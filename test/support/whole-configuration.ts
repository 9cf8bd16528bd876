import { channelBodies } from './channel-samples.ts';
import type { Resources } from './declare-by-api.ts';
import { REGION_NAMES, times } from './resources.ts';
import type { Configuration } from './terraform/runner.ts';

const id = (kind: string, name: string) => `\${${kind}.${name}.id}`;

const EVERY_CHANNEL = Object.fromEntries(channelBodies().map((body) => [body.provider_type, body]));

/**
 * A configuration with every resource, every block and every form of attributes: all attributes, only the
 * required ones, zeros, empty strings, lists and mappings, and strings that other languages would interpret.
 * A string is a literal, unless the whole string is a reference.
 */
export const WHOLE_CONFIGURATION: Resources = {
  svc_http_monitor: {
    api: {
      name: 'API',
      url: 'https://probe:pass%20word@api.example.com/health?deep=1#part',
      method: 'POST',
      body: `one\n\ttwo "quoted" \\ \${env.HOME} %{ if true }\n`,
      follow_redirects: false,
      certificate_expiry_days: 21,
      periodicity: '30s',
      timeout: 5_000,
      degraded_at: 0.1,
      retry: 1,
      active: true,
      public: true,
      description: `Prüfung – 検査: $\${literal} %%{x} # not a comment`,
      regions: ['hostc-us-east4', 'hosta-fra'],
      quorum: '2',
      confirm_after: 3,
      recover_after: 2,
      otlp_endpoint: 'http://collector.example:4318/v1/metrics',
      otlp_headers: { Authorization: 'Bearer of the collector', 'X-Tenant': `\${a}` },
      headers: [
        { key: 'Authorization', value: 'Bearer of the monitor' },
        { key: 'X-Same', value: '' },
        { key: 'X-Same', value: "it's two" },
      ],
      status_code_assertions: [
        { target: 200, comparator: 'gte' },
        { target: 299, comparator: 'lte' },
      ],
      body_assertions: [
        { target: '"ok": true', comparator: 'contains' },
        { target: '', comparator: 'not_empty' },
      ],
      header_assertions: [{ key: 'Server', target: 'a\r\nb', comparator: 'neq' }],
    },
    least: { name: 'true', url: 'http://[::1]:8080', periodicity: '1h' },
    zeros: {
      name: '0123',
      url: 'https://example.com',
      method: 'GET',
      body: '',
      periodicity: '1m',
      timeout: 0,
      degraded_at: 0,
      retry: 0,
      active: false,
      description: '',
      regions: [],
      otlp_headers: {},
      headers: [],
      status_code_assertions: [],
    },
    most: {
      name: 'x'.repeat(256),
      url: `https://example.com/${'x'.repeat(2_028)}`,
      periodicity: '5m',
      degraded_at: Number.MAX_SAFE_INTEGER,
      timeout: 120_000,
      retry: 10,
      description: 'y'.repeat(1_024),
      regions: REGION_NAMES,
      headers: times(20, { key: 'X-A', value: 'b' }),
      status_code_assertions: times(10, { target: 404, comparator: 'neq' }),
      body_assertions: times(10, { target: 'a', comparator: 'eq' }),
      header_assertions: times(10, { key: 'A', target: '', comparator: 'empty' }),
    },
  },
  svc_tcp_monitor: {
    database: {
      name: 'Database',
      uri: 'db.example.com:5432',
      periodicity: '10m',
      timeout: 1_000,
      degraded_at: 250.5,
      retry: 2,
      active: true,
      public: true,
      description: 'Primary',
      regions: ['hostb-par'],
      quorum: 'any',
      confirm_after: 10,
      otlp_endpoint: 'https://otlp.example.com',
      otlp_headers: { A: 'b' },
    },
    least: { name: 'null', uri: '[2001:db8::1]:443', periodicity: '30m' },
  },
  svc_dns_monitor: {
    records: {
      name: 'Records',
      uri: '_dmarc.example.com.',
      periodicity: '5m',
      timeout: 1,
      degraded_at: 33.3,
      retry: 0,
      active: true,
      public: true,
      description: 'Mail',
      regions: ['hostb-tyo', 'hosta-ams'],
      quorum: 'all',
      recover_after: 10,
      otlp_endpoint: 'http://collector.example:4318',
      otlp_headers: { 'X-Tenant': 'a' },
      record_assertions: [
        { record: 'A', target: '192.0.2.1', comparator: 'eq' },
        { record: 'AAAA', target: '2001:db8::1', comparator: 'neq' },
        { record: 'CNAME', target: 'www.example.com', comparator: 'contains' },
        { record: 'MX', target: '10 mail.example.com', comparator: 'not_contains' },
        { record: 'TXT', target: 'v=DMARC1; p=none', comparator: 'eq' },
      ],
    },
    least: { name: 'least', uri: 'bücher.example', periodicity: '1h' },
  },
  svc_notification: {
    ...EVERY_CHANNEL,
    email: {
      ...{ name: 'Mail', provider_type: 'email', email: { email: 'ops@example.com' } },
      ...{ notify_unknown: false, remind_every: '4h' },
    },
    webhook: {
      name: 'Hook',
      provider_type: 'webhook',
      webhook: {
        endpoint: 'https://alerts:hook%20word@hook.example.com/a?b=c',
        headers: [
          { key: 'Authorization', value: `Bearer \${of} the hook` },
          { key: 'X-Other', value: '' },
        ],
      },
      monitor_ids: [
        id('svc_http_monitor', 'api'),
        id('svc_http_monitor', 'zeros'),
        id('svc_http_monitor', 'least'),
        id('svc_tcp_monitor', 'least'),
        id('svc_tcp_monitor', 'database'),
        id('svc_dns_monitor', 'records'),
      ],
    },
    webhook_least: { provider_type: 'webhook', webhook: { endpoint: 'http://hook.example.com' } },
    webhook_empty: {
      name: '',
      provider_type: 'webhook',
      webhook: { endpoint: 'http://hook.example.com', headers: [] },
      monitor_ids: [],
    },
    incident_c: {
      provider_type: 'incident_c',
      incident_c: { webhook_url: 'https://on-call.example.com/c' },
      monitor_ids: [id('svc_tcp_monitor', 'database')],
    },
    push_a_least: { provider_type: 'push_a', push_a: { topic: 'alerts-2' } },
  },
  svc_status_page: {
    main: {
      title: 'Main',
      slug: 'main',
      description: 'What we run',
      homepage_url: 'https://example.com',
      contact_url: 'mailto:ops@example.com',
      icon: 'https://example.com/icon.png',
      custom_domain: 'status.example.com',
      access_type: 'public',
      auth_email_domains: [],
    },
    least: { title: 'Least', slug: 'least' },
    locked: { title: 'Locked', slug: 'locked', access_type: 'password', password: `pass \${word} %{x}` },
    staff: {
      title: 'Staff',
      slug: 'staff',
      description: '',
      access_type: 'email-domain',
      auth_email_domains: ['example.org', 'example.com'],
    },
  },
  svc_status_page_component_group: {
    services: { page_id: id('svc_status_page', 'main'), name: 'Services' },
    other: { page_id: id('svc_status_page', 'locked'), name: 'Services' },
  },
  svc_status_page_component: {
    api: {
      page_id: id('svc_status_page', 'main'),
      type: 'monitor',
      monitor_id: id('svc_http_monitor', 'api'),
      name: 'API',
      description: 'For customers',
      order: 1,
      group_id: id('svc_status_page_component_group', 'services'),
      group_order: 2,
    },
    database: {
      page_id: id('svc_status_page', 'main'),
      type: 'monitor',
      monitor_id: id('svc_tcp_monitor', 'database'),
      order: 0,
      group_id: id('svc_status_page_component_group', 'services'),
      group_order: 0,
    },
    same_monitor: {
      page_id: id('svc_status_page', 'locked'),
      type: 'monitor',
      monitor_id: id('svc_http_monitor', 'api'),
      group_id: id('svc_status_page_component_group', 'other'),
    },
    notes: {
      page_id: id('svc_status_page', 'main'),
      type: 'static',
      name: '',
      description: '',
      order: -1,
    },
    least: { page_id: id('svc_status_page', 'staff'), type: 'static' },
  },
};

const REFERENCE = /^\$\{svc_[a-z_]+\.[a-z_]+\.id\}$/;

/** Returns the resources with every text changed, except references. */
function withTexts<T>(value: T, change: (text: string) => string): T {
  if (typeof value === 'string') return (REFERENCE.test(value) ? value : change(value)) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((member: unknown) => withTexts(member, change)) as T;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withTexts(member, change)]),
  ) as T;
}

/** Returns the resources as a declared file in JSON. */
export function asDeclaredFile(resources: Resources): string {
  return JSON.stringify(withTexts(resources, (text) => text.replaceAll('${', () => '$${')));
}

/** Returns the resources in Terraform's JSON syntax. */
export function asTerraformJson(resources: Resources): NonNullable<Configuration['resource']> {
  const escaped = (text: string) => text.replace(/[$%]\{/g, (start) => start[0] + start);
  return withTexts(resources, escaped) as NonNullable<Configuration['resource']>;
}
