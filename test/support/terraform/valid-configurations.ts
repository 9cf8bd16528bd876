import type { ResourceKind } from '@svc/shared/resources/registry.ts';
import { header, longUrl, REGION_NAMES, times, x } from '../resources.ts';
import { bodyOf, type ConfigurationCase, channel } from './configuration-case.ts';

type ValidRow = readonly [kind: ResourceKind, name: string, members: Readonly<Record<string, unknown>>];

const HTTP = 'svc_http_monitor';
const TCP = 'svc_tcp_monitor';
const DNS = 'svc_dns_monitor';
const CHANNEL = 'svc_notification';
const PAGE = 'svc_status_page';
const COMPONENT = 'svc_status_page_component';

const status = (target: number, comparator: string) => ({ target, comparator });
const texts = ['contains', 'not_contains', 'eq', 'neq', 'empty', 'not_empty', 'gt', 'gte', 'lt', 'lte'];

const ROWS: readonly ValidRow[] = [
  [HTTP, 'the longest name', { name: x(256) }],
  [TCP, 'the shortest name', { name: 'a' }],
  ...['30s', '1m', '5m', '10m', '30m', '1h'].map(
    (each): ValidRow => [DNS, `periodicity ${each}`, { periodicity: each }],
  ),
  [HTTP, 'zeros', { timeout: 0, degraded_at: 0, retry: 0 }],
  [TCP, 'the longest time-out and most retries', { timeout: 120_000, retry: 10 }],
  [HTTP, 'the largest threshold', { degraded_at: 9_007_199_254_740_991 }],
  [HTTP, 'a threshold with a fraction', { degraded_at: 0.1 }],
  [HTTP, 'the longest description', { description: x(1_024) }],
  [TCP, 'an empty description', { description: '' }],
  [HTTP, 'all regions', { regions: REGION_NAMES }],
  [DNS, 'no regions', { regions: [] }],
  [TCP, 'a quorum of one region', { quorum: '1' }],
  [HTTP, 'a quorum as a number', { quorum: 28 }],
  [DNS, 'slots in a row', { confirm_after: 10, recover_after: 10 }],
  [
    TCP,
    'export',
    {
      otlp_endpoint: 'http://localhost:4318/v1/metrics',
      otlp_headers: { Authorization: 'Bearer a', tenant: '' },
    },
  ],
  [DNS, 'export without headers', { otlp_endpoint: 'https://otlp.example.com', otlp_headers: {} }],
  [HTTP, 'the longest URL', { url: longUrl(2_048) }],
  [HTTP, 'a URL of an IPv6 address', { url: 'HTTP://[::1]:8080/a?b#c' }],
  ...['GET', 'POST', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].map(
    (method): ValidRow => [HTTP, `method ${method}`, { method }],
  ),
  [HTTP, 'the largest body', { method: 'POST', body: x(262_144) }],
  [HTTP, 'an empty body', { body: '' }],
  [HTTP, 'what is the other way by default', { follow_redirects: false, active: true, public: true }],
  [HTTP, 'as many headers as there may be', { headers: times(20, header) }],
  [
    HTTP,
    'a header with the longest value',
    {
      headers: [
        { key: 'X-A', value: x(8_192) },
        { key: 'Host', value: '' },
      ],
    },
  ],
  [
    HTTP,
    'as many assertions as there may be',
    {
      status_code_assertions: times(10, status(100, 'gte')),
      body_assertions: times(10, { target: '', comparator: 'empty' }),
      header_assertions: times(10, { key: 'Server', target: '', comparator: 'not_empty' }),
    },
  ],
  [
    HTTP,
    'the highest status code',
    { status_code_assertions: ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'].map((each) => status(599, each)) },
  ],
  [
    HTTP,
    'all comparators of texts',
    {
      body_assertions: texts.map((comparator) => ({ target: 'a', comparator })),
      header_assertions: texts.map((comparator) => ({ key: 'Server', target: 'a', comparator })),
    },
  ],
  [TCP, 'the lowest port', { uri: 'localhost:1' }],
  [TCP, 'the highest port of an IPv6 address', { uri: '[::1]:65535' }],
  [TCP, 'an IPv4 address', { uri: '127.0.0.1:80' }],
  [DNS, 'a name with underscore and dot at its end', { uri: '_dmarc.example.com.' }],
  [
    DNS,
    'all record types',
    {
      record_assertions: ['A', 'AAAA', 'CNAME', 'MX', 'TXT'].map((each) => ({
        record: each,
        target: 'a',
        comparator: 'contains',
      })),
    },
  ],
  [
    DNS,
    'as many assertions as there may be',
    { record_assertions: times(10, { record: 'A', target: '192.0.2.1', comparator: 'eq' }) },
  ],
  [
    DNS,
    'all comparators of records',
    {
      record_assertions: ['eq', 'neq', 'contains', 'not_contains'].map((comparator) => ({
        record: 'TXT',
        target: '',
        comparator,
      })),
    },
  ],
  [CHANNEL, 'the longest name', { name: x(256) }],
  [CHANNEL, 'no monitors', { monitor_ids: [] }],
  [CHANNEL, 'a webhook', channel('webhook', { endpoint: 'http://127.0.0.1:1/' })],
  [
    CHANNEL,
    'a webhook with as many headers as there may be',
    channel('webhook', { endpoint: 'https://example.com', headers: times(20, header) }),
  ],
  [
    CHANNEL,
    'a webhook with a list of no headers',
    channel('webhook', { endpoint: 'https://example.com', headers: [] }),
  ],
  [CHANNEL, 'a text message', channel('sms', { phone_number: '+4915112345678' })],
  [CHANNEL, 'the longest phone number', channel('messenger_b', { phone_number: '+123456789012345' })],
  [CHANNEL, 'a chat by number', channel('messenger_a', { chat_id: '-1001234567890' })],
  [CHANNEL, 'a chat by name', channel('messenger_a', { chat_id: '@channel' })],
  ...['chat_a', 'chat_b', 'chat_c', 'incident_c'].map(
    (kind): ValidRow => [
      CHANNEL,
      `a webhook of ${kind}`,
      channel(kind, { webhook_url: 'https://example.com/a?key=b' }),
    ],
  ),
  [CHANNEL, 'a key', channel('incident_a', { integration_key: x(32) })],
  ...['us', 'eu'].map(
    (region): ValidRow => [
      CHANNEL,
      `an account in ${region}`,
      channel('incident_b', { api_key: 'a', region }),
    ],
  ),
  [CHANNEL, 'a topic', channel('push_a', { topic: x(64) })],
  [
    CHANNEL,
    "a topic of a server of one's own",
    channel('push_a', { topic: 'a', server_url: 'https://push.example.com', token: x(1_024) }),
  ],
  [PAGE, 'the longest texts', { title: x(256), slug: x(256), description: x(1_024) }],
  [
    PAGE,
    'all links',
    {
      homepage_url: 'https://example.com',
      contact_url: 'mailto:ops@example.com',
      icon: 'https://example.com/icon.png',
    },
  ],
  [PAGE, 'a custom domain', { custom_domain: 'status.example.com' }],
  [PAGE, 'public access', { access_type: 'public' }],
  [PAGE, 'access by password', { access_type: 'password', password: x(256) }],
  [PAGE, 'access by domain', { access_type: 'email-domain', auth_email_domains: ['example.com'] }],
  [PAGE, 'a password kept for later', { password: 'a' }],
  [COMPONENT, 'the longest texts', { name: x(256), description: x(1_024) }],
  [COMPONENT, 'the first place', { order: 0, group_order: 0 }],
  [COMPONENT, 'the furthest places', { order: -2_147_483_648, group_order: 2_147_483_647 }],
  ['svc_status_page_component_group', 'the longest name', { name: x(256) }],
];

/** Valid configurations that are close to the invalid ones: the values at the bounds, and every choice. */
export const VALID_CONFIGURATIONS: readonly ConfigurationCase[] = ROWS.map(([type, name, members]) => ({
  of: 'resource',
  type,
  name,
  body: bodyOf(type, members),
}));
