import { expect, test } from 'vitest';
import { header, longUrl, REGION_NAMES, shown, times, VALID, x } from '../../../../test/support/resources.ts';
import { MONITOR_KINDS } from './monitors.ts';
import { parseResource, type ResourceKind } from './registry.ts';

/** A kind of resource, and members that replace members of a valid resource of this kind. */
type Accepted = [ResourceKind, Record<string, unknown>];
const each = (kind: ResourceKind, name: string, values: unknown[]): Accepted[] =>
  values.map((value) => [kind, { [name]: value }]);

const ACCEPTED: Accepted[] = [
  ...MONITOR_KINDS.flatMap((kind) => [
    ...each(kind, 'periodicity', ['30s', '1m', '5m', '10m', '30m', '1h']),
    ...each(kind, 'timeout', [0, 1, 120_000, null]),
    ...each(kind, 'degraded_at', [0, 0.5, 1_000_000]),
    ...each(kind, 'retry', [0, 10]),
    ...each(kind, 'name', [x(256), 'Prüfung – 検査']),
    ...each(kind, 'description', ['', x(1_024), null]),
    ...each(kind, 'regions', [REGION_NAMES, [], null]),
    ...each(kind, 'quorum', ['majority', 'any', 'all', '1', '28', 1, 28, null]),
    ...each(kind, 'confirm_after', [1, 10, null]),
    ...each(kind, 'recover_after', [1, 10, null]),
    ...each(kind, 'otlp_endpoint', ['http://localhost:4318/v1/metrics', 'https://otlp.example.com']),
    ...each(kind, 'otlp_headers', [{}, { Authorization: 'Bearer x' }]),
  ]),
  ...each('svc_http_monitor', 'method', ['GET', 'POST', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']),
  ...each('svc_http_monitor', 'url', [
    longUrl(2_048),
    'HTTP://[::1]:8080/a?b#c',
    'https://bücher.example/ü',
    'https://user:p%40ss@example.com/',
  ]),
  ...each('svc_http_monitor', 'body', ['', x(262_144)]),
  ...each('svc_http_monitor', 'headers', [
    times(20, header),
    [{ key: 'Host', value: 'a.example' }],
    [{ key: 'a', value: x(8_192) }],
    [{ key: 'a', value: '' }],
    null,
  ]),
  ...each(
    'svc_http_monitor',
    'status_code_assertions',
    ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'].map((comparator) =>
      times(10, { target: comparator === 'eq' ? 100 : 599, comparator }),
    ),
  ),
  ...['contains', 'not_contains', 'eq', 'neq', 'empty', 'not_empty', 'gt', 'gte', 'lt', 'lte'].flatMap(
    (comparator): Accepted[] => [
      ['svc_http_monitor', { body_assertions: times(10, { target: '', comparator }) }],
      ['svc_http_monitor', { header_assertions: times(10, { key: 'Server', target: 'a', comparator }) }],
    ],
  ),
  ...each('svc_tcp_monitor', 'uri', [
    'localhost:1',
    '127.0.0.1:65535',
    '[::1]:443',
    'a_b.internal:22',
    'bücher.example:1',
  ]),
  ...each('svc_dns_monitor', 'uri', [
    'localhost',
    '_dmarc.example.com',
    'example.com.',
    'xn--bcher-kva.example',
  ]),
  ...['A', 'AAAA', 'CNAME', 'MX', 'TXT'].flatMap((record) =>
    ['eq', 'neq', 'contains', 'not_contains'].map(
      (comparator): Accepted => [
        'svc_dns_monitor',
        { record_assertions: times(10, { record, target: '', comparator }) },
      ],
    ),
  ),
  ...each('svc_notification', 'monitor_ids', [['1', '999999999999999'], []]),
  ...(
    [
      ['webhook', { endpoint: 'http://127.0.0.1:1/', headers: times(20, header) }],
      ['webhook', { endpoint: 'https://example.com/hook' }],
      ['sms', { phone_number: '+4915112345678' }],
      ['messenger_b', { phone_number: '+12025550123' }],
      ['messenger_a', { chat_id: '-1001234567890' }],
      ['messenger_a', { chat_id: '@channel' }],
      ['chat_a', { webhook_url: 'https://example.com/a' }],
      ['chat_b', { webhook_url: 'https://example.com/a' }],
      ['chat_c', { webhook_url: 'https://example.com/a?key=b&token=c' }],
      ['incident_a', { integration_key: x(32) }],
      ['incident_b', { api_key: 'a', region: 'us' }],
      ['incident_b', { api_key: 'a', region: 'eu' }],
      ['incident_c', { webhook_url: 'https://example.com/a' }],
      ['push_a', { topic: 'alerts' }],
      ['push_a', { topic: x(64), server_url: 'https://push.example.com', token: 'tk_a' }],
    ] as const
  ).map(
    ([kind, block]): Accepted => ['svc_notification', { provider_type: kind, email: null, [kind]: block }],
  ),
  ...each('svc_status_page', 'title', [x(256)]),
  ...each('svc_status_page', 'slug', [x(256), 'a-b--c', '1']),
  ...each('svc_status_page', 'description', [x(1_024)]),
  ...each('svc_status_page', 'contact_url', ['mailto:ops@example.com', 'https://example.com']),
  ...each('svc_status_page', 'custom_domain', ['status.example.com']),
  ['svc_status_page', { access_type: 'public' }],
  ['svc_status_page', { access_type: 'password', password: 'a' }],
  ['svc_status_page', { access_type: 'email-domain', auth_email_domains: ['example.com', 'example.org'] }],
  ['svc_status_page_component', { type: 'monitor', monitor_id: '7' }],
  [
    'svc_status_page_component',
    { name: x(256), description: x(1_024), order: 0, group_id: '2', group_order: 3 },
  ],
  ...each('svc_status_page_component_group', 'name', [x(256)]),
];

test.each(ACCEPTED.map(([kind, members]) => ({ kind, members, name: shown(members) })))(
  '$kind accepts $name',
  ({ kind, members }) => {
    const base = members.provider_type === undefined ? VALID[kind] : {};
    expect(parseResource(kind, { ...base, ...members }, 'api')).toMatchObject({ ok: true });
  },
);
