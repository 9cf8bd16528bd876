import { CHANNEL_KINDS } from '@svc/shared/channels/settings.ts';
import { CHANNEL_SAMPLES } from '../channel-samples.ts';
import { type Body, ref } from './runner.ts';

/** Two or more values of each attribute and block that a user can set, by kind of resource. */
export type Values = Readonly<Record<string, readonly [unknown, unknown, ...unknown[]]>>;

const header = (key: string, value: string) => ({ key, value });

const EVERY_MONITOR: Values = {
  name: ['A monitor', 'Überwachung 東京 🚦'],
  periodicity: ['1m', '30s', '1h'],
  timeout: [1_000, 0, 120_000],
  degraded_at: [0, 0.1, 1_500, 2.5],
  retry: [0, 10],
  active: [true, false],
  public: [true, false],
  description: ['Text', '', 'Two\nlines "quoted" \\ ü'],
  regions: [['hostb-par', 'hosta-fra'], ['hosta-fra'], [], ['hostc-us-east4', 'hosta-ams', 'hostb-tyo']],
  quorum: ['2', 'majority', 'any', '28'],
  confirm_after: [2, 1, 10],
  recover_after: [3, 1, 10],
  otlp_endpoint: ['https://otlp.example.com/v1/metrics', 'http://127.0.0.1:4318'],
  otlp_headers: [{ 'X-Tenant': 'a' }, { 'X-Tenant': 'b', Authorization: 'Bearer c' }, {}],
};

const page = (name: string) => ref(`svc_status_page.${name}.id`);
const monitor = (type: string) => ref(`svc_${type}_monitor.all.id`);

/**
 * `all` of each kind has every attribute that can be set. There are further bodies if one resource cannot
 * have all attributes.
 */
export type Sample = { readonly kind: string; readonly name: string; readonly values: Values };

export const SAMPLES: readonly Sample[] = [
  {
    kind: 'svc_http_monitor',
    name: 'all',
    values: {
      ...EVERY_MONITOR,
      url: [
        'https://example.com/health?a=1',
        'https://user:p%40ss@example.com/health?a=1',
        'http://127.0.0.1:8080/',
        'https://bücher.example/ü',
      ],
      method: ['POST', 'HEAD', 'OPTIONS'],
      body: ['{"a": "ü"}', '', 'x'.repeat(1_000)],
      follow_redirects: [false, true],
      certificate_expiry_days: [30, 0, 398],
      headers: [[header('X-A', 'a'), header('X-B', '')], [header('X-B', 'b')], []],
      status_code_assertions: [[{ target: 200, comparator: 'eq' }], [{ target: 599, comparator: 'lte' }], []],
      body_assertions: [
        [{ target: '', comparator: 'not_empty' }],
        [
          { target: 'ok', comparator: 'contains' },
          { target: '', comparator: 'empty' },
        ],
        [],
      ],
      header_assertions: [
        [{ key: 'Content-Type', target: 'json', comparator: 'contains' }],
        [{ key: 'X-A', target: '', comparator: 'empty' }],
        [],
      ],
    },
  },
  {
    kind: 'svc_tcp_monitor',
    name: 'all',
    values: { ...EVERY_MONITOR, uri: ['example.com:443', '[2001:db8::1]:53', '192.0.2.1:65535'] },
  },
  {
    kind: 'svc_dns_monitor',
    name: 'all',
    values: {
      ...EVERY_MONITOR,
      uri: ['example.com', 'other.example.com'],
      record_assertions: [
        [{ record: 'A', target: '192.0.2.7', comparator: 'eq' }],
        [
          { record: 'TXT', target: '', comparator: 'neq' },
          { record: 'MX', target: '10 mail.example.com', comparator: 'eq' },
        ],
        [],
      ],
    },
  },
  ...CHANNEL_KINDS.map(
    (channel): Sample => ({
      kind: 'svc_notification',
      name: channel,
      values: {
        name: [`Channel ${channel}`, 'Kanal ü', ''],
        provider_type: [channel, channel],
        monitor_ids: [[monitor('http'), monitor('dns')], [monitor('tcp')], []],
        group_alerts: [false, true],
        notify_unknown: [false, true],
        remind_every: ['30m', '1d'],
        [channel]: channelValues(CHANNEL_SAMPLES[channel]) as unknown as [unknown, unknown],
      },
    }),
  ),
  {
    kind: 'svc_status_page',
    name: 'password',
    values: {
      title: ['Status', 'État'],
      slug: ['all', 'all-2'],
      description: ['Text', ''],
      homepage_url: ['https://example.com', 'https://example.org/'],
      contact_url: ['mailto:a@example.com', 'https://example.com/contact'],
      icon: ['https://example.com/icon.png', 'https://example.com/icon.svg'],
      custom_domain: ['status.example.com', 'status.example.org'],
      access_type: ['password', 'email-domain', 'public'],
      password: ['open sesame', 'other'],
      auth_email_domains: [['example.com', 'example.org'], ['example.org', 'example.com'], ['example.net']],
    },
  },
  {
    kind: 'svc_status_page',
    name: 'other',
    values: { title: ['Other', 'Other'], slug: ['other', 'other'], auth_email_domains: [[], []] },
  },
  {
    kind: 'svc_status_page_component_group',
    name: 'all',
    values: { page_id: [page('password'), page('other')], name: ['Group', 'Gruppe ü'] },
  },
  {
    kind: 'svc_status_page_component',
    name: 'monitor',
    values: {
      page_id: [page('password'), page('password')],
      type: ['monitor', 'monitor'],
      monitor_id: [monitor('http'), monitor('tcp')],
      name: ['Component', 'Bestandteil'],
      description: ['Text', ''],
      order: [1, 0, -5],
      group_order: [3, 0],
    },
  },
  {
    kind: 'svc_status_page_component',
    name: 'grouped',
    values: {
      page_id: [page('password'), page('password')],
      type: ['static', 'static'],
      group_id: [
        ref('svc_status_page_component_group.grouping.id'),
        ref('svc_status_page_component_group.second.id'),
      ],
    },
  },
  {
    kind: 'svc_status_page_component_group',
    name: 'grouping',
    values: { page_id: [page('password'), page('password')], name: ['First', 'First'] },
  },
  {
    kind: 'svc_status_page_component_group',
    name: 'second',
    values: { page_id: [page('password'), page('password')], name: ['Second', 'Second'] },
  },
];

/**
 * Returns blocks. The first one has the first value of each
 * attribute. In each of the others, one attribute has another value.
 */
function channelValues(attributes: Values): unknown[] {
  const first = Object.fromEntries(Object.entries(attributes).map(([name, [value]]) => [name, value]));
  const changed = Object.entries(attributes).flatMap(([name, [, ...others]]) =>
    others.map((value) => [{ ...first, [name]: value }]),
  );
  const lessOf = Object.keys(attributes).filter((name) => ['headers', 'server_url', 'token'].includes(name));
  const fewer = lessOf.map((name) => [
    Object.fromEntries(Object.entries(first).filter(([each]) => each !== name)),
  ]);
  return [[first], ...changed, ...fewer];
}

/** Returns the body with the first value of each attribute and block. */
export function firstBody({ values }: Sample): Body {
  return Object.fromEntries(Object.entries(values).map(([name, [value]]) => [name, value]));
}
