import { expect, test } from 'vitest';
import {
  header,
  longPort,
  longUrl,
  REGION_NAMES,
  shown,
  times,
  VALID,
  x,
} from '../../../../test/support/resources.ts';
import { CHANNEL_KINDS } from '../channels/settings.ts';
import { parseResource, type ResourceKind } from './registry.ts';

/** Members laid over a valid resource; path and message of each issue. `undefined` removes a member. */
type Refused = [ResourceKind, Record<string, unknown>, string[]];
const USE_OTLP_OVER_HTTP =
  'metrics go out by OTLP over HTTP only. Use the HTTP endpoint of the same receiver, most often port 4318, like https://collector.example.com:4318';

const refusedEach = (
  kinds: readonly ResourceKind[],
  members: Record<string, unknown>,
  issues: string[],
): Refused[] => kinds.map((kind) => [kind, members, issues]);
const MONITORS = ['svc_http_monitor', 'svc_tcp_monitor', 'svc_dns_monitor'] as const;

const REFUSED: Refused[] = [
  ...refusedEach(MONITORS, { name: undefined }, ['name: is required']),
  ...refusedEach(MONITORS, { name: null }, ['name: is required']),
  ...refusedEach(MONITORS, { name: '' }, ['name: must not be empty']),
  ...refusedEach(MONITORS, { name: x(257) }, ['name: has 257 characters, but at most 256 are allowed']),
  ...refusedEach(MONITORS, { name: 'a\nb' }, ['name: must be one line without control characters']),
  ...refusedEach(MONITORS, { name: 'a\u009bb' }, ['name: must be one line without control characters']),
  ...refusedEach(MONITORS, { name: 'a\u202eb' }, [
    'name: must not contain characters that change the direction of the text',
  ]),
  ...refusedEach(MONITORS, { name: 'a\ud800' }, [
    'name: contains half of a surrogate pair, which is not a character',
  ]),
  ...refusedEach(MONITORS, { periodicity: undefined }, ['periodicity: is required']),
  ...refusedEach(MONITORS, { periodicity: '2m' }, [
    'periodicity: "2m" is not one of 30s, 1m, 5m, 10m, 30m, 1h',
  ]),
  ...refusedEach(MONITORS, { periodicity: 60 }, ['periodicity: must be a string, not a number']),
  ...refusedEach(MONITORS, { timeout: -1 }, ['timeout: is -1, but must be from 0 to 120000']),
  ...refusedEach(MONITORS, { timeout: 120_001 }, ['timeout: is 120001, but must be from 0 to 120000']),
  ...refusedEach(MONITORS, { timeout: 1.5 }, ['timeout: is 1.5, but must be a whole number']),
  ...refusedEach(MONITORS, { timeout: '45s' }, ['timeout: must be a number, not a string']),
  ...refusedEach(MONITORS, { timeout: Number.NaN }, ['timeout: must be a finite number']),
  ...refusedEach(MONITORS, { degraded_at: -1 }, ['degraded_at: is -1, but must be 0 or more']),
  ...refusedEach(MONITORS, { retry: 11 }, ['retry: is 11, but must be from 0 to 10']),
  ...refusedEach(MONITORS, { retry: -1 }, ['retry: is -1, but must be from 0 to 10']),
  ...refusedEach(MONITORS, { active: 'yes' }, ['active: must be a boolean, not a string']),
  ...refusedEach(MONITORS, { public: 1 }, ['public: must be a boolean, not a number']),
  ...refusedEach(MONITORS, { description: x(1_025) }, [
    'description: has 1025 characters, but at most 1024 are allowed',
  ]),
  ...refusedEach(MONITORS, { regions: 'hosta-fra' }, ['regions: must be a list, not a string']),
  ...refusedEach(MONITORS, { regions: ['hosta-fra', 'hosta-xyz'] }, [
    `regions.1: "hosta-xyz" is not one of ${REGION_NAMES.join(', ')}`,
  ]),
  ...refusedEach(MONITORS, { otlp_endpoint: 'ftp://a' }, [
    'otlp_endpoint: must be a URL that starts with https:// or http://',
  ]),
  ...refusedEach(MONITORS, { otlp_endpoint: 'grpc://a' }, [
    `otlp_endpoint: is an address of gRPC: ${USE_OTLP_OVER_HTTP}`,
  ]),
  ...refusedEach(MONITORS, { otlp_endpoint: 'http://a:4317' }, [
    `otlp_endpoint: has port 4317, which is gRPC: ${USE_OTLP_OVER_HTTP}`,
  ]),
  ...refusedEach(MONITORS, { otlp_headers: { Host: 'a' } }, [
    'otlp_headers.Host: must not be "Host": that header is set by the connection itself',
  ]),
  ...refusedEach(MONITORS, { otlp_headers: { a: 1 } }, ['otlp_headers.a: must be a string, not a number']),
  ...refusedEach(MONITORS, { periodicty: '1m' }, ['periodicty: is unknown: did you mean "periodicity"?']),
  ...refusedEach(MONITORS, { otlp_endpoint: 'https://user:secret@a/' }, [
    'otlp_endpoint: must not contain a user name or password: send them in a header',
  ]),
  ['svc_http_monitor', { url: undefined }, ['url: is required']],
  ['svc_http_monitor', { url: longUrl(2_049) }, ['url: has 2049 characters, but at most 2048 are allowed']],
  ['svc_http_monitor', { url: 'example.com' }, ['url: must be a URL that starts with https:// or http://']],
  ['svc_http_monitor', { url: 'ftp://a' }, ['url: must be a URL that starts with https:// or http://']],
  ['svc_http_monitor', { url: 'https://' }, ['url: is not a valid URL']],
  ['svc_http_monitor', { url: 'http:a' }, ['url: must be a URL that starts with https:// or http://']],
  ['svc_http_monitor', { url: 'http://a:0/' }, ['url: must not name port 0']],
  ['svc_http_monitor', { url: 'http://a:70000/' }, ['url: is not a valid URL']],
  [
    'svc_http_monitor',
    { url: ' https://a' },
    ['url: must not contain spaces or control characters: write a space as %20'],
  ],
  [
    'svc_http_monitor',
    { url: 'https:///user:secret@a/' },
    ['url: is not a valid URL: there are too many slashes after the scheme'],
  ],
  [
    'svc_http_monitor',
    { method: 'get' },
    ['method: "get" is not one of GET, POST, HEAD, PUT, PATCH, DELETE, OPTIONS'],
  ],
  ['svc_http_monitor', { body: x(262_145) }, ['body: has 262145 bytes, but at most 262144 are allowed']],
  [
    'svc_http_monitor',
    { body: 'ü'.repeat(131_073) },
    ['body: has 262146 bytes, but at most 262144 are allowed'],
  ],
  [
    'svc_http_monitor',
    { body: '\u0001'.repeat(262_144) },
    [': has 1573232 bytes as JSON, but at most 786432 are allowed'],
  ],
  [
    'svc_http_monitor',
    { certificate_expiry_days: 399 },
    ['certificate_expiry_days: is 399, but must be from 0 to 398'],
  ],
  [
    'svc_http_monitor',
    { certificate_expiry_days: 0.5 },
    ['certificate_expiry_days: is 0.5, but must be a whole number'],
  ],
  [
    'svc_tcp_monitor',
    { certificate_expiry_days: 7 },
    [expect.stringMatching('^certificate_expiry_days: is unknown')],
  ],
  ['svc_http_monitor', { follow_redirects: null, headers: {} }, ['headers: must be a list, not a mapping']],
  [
    'svc_http_monitor',
    { headers: times(21, header) },
    ['headers: has 21 entries, but at most 20 are allowed'],
  ],
  ['svc_http_monitor', { headers: [{ value: 'a' }] }, ['headers.0.key: is required']],
  ['svc_http_monitor', { headers: [{ key: 'a' }] }, ['headers.0.value: is required']],
  [
    'svc_http_monitor',
    { headers: [{ key: 'a b', value: '' }] },
    ['headers.0.key: is not a header name: use letters, digits and hyphens, without spaces or a colon'],
  ],
  ...[
    'Content-Length',
    'transfer-encoding',
    'Connection',
    'Keep-Alive',
    'TE',
    'Trailer',
    'Upgrade',
    'Expect',
    'Proxy-Authorization',
  ].map(
    (key): Refused => [
      'svc_http_monitor',
      { headers: [{ key, value: 'a' }] },
      [`headers.0.key: must not be "${key}": that header is set by the connection itself`],
    ],
  ),
  ...['a\r\nb', 'a\nb', 'a\u0000b'].map(
    (value): Refused => [
      'svc_http_monitor',
      { headers: [{ key: 'a', value }] },
      ['headers.0.value: must not contain line breaks or NUL'],
    ],
  ),
  [
    'svc_http_monitor',
    { headers: [{ key: 'a', value: '検' }] },
    [
      'headers.0.value: contains characters that an HTTP header cannot carry: use Latin-1 characters, and encode others',
    ],
  ],
  [
    'svc_http_monitor',
    { headers: [{ key: 'a', value: x(8_193) }] },
    ['headers.0.value: has 8193 bytes, but at most 8192 are allowed'],
  ],
  [
    'svc_http_monitor',
    { headers: [{ ...header, valeu: 'a' }] },
    ['headers.0.valeu: is unknown: did you mean "value"?'],
  ],
  [
    'svc_http_monitor',
    { status_code_assertions: [{ target: 99, comparator: 'eq' }] },
    ['status_code_assertions.0.target: is 99, but must be from 100 to 599'],
  ],
  [
    'svc_http_monitor',
    { status_code_assertions: [{ target: 600, comparator: 'eq' }] },
    ['status_code_assertions.0.target: is 600, but must be from 100 to 599'],
  ],
  [
    'svc_http_monitor',
    { status_code_assertions: [{ target: '200', comparator: 'eq' }] },
    ['status_code_assertions.0.target: must be a number, not a string'],
  ],
  [
    'svc_http_monitor',
    { status_code_assertions: [{ target: 200, comparator: 'contains' }] },
    ['status_code_assertions.0.comparator: "contains" is not one of eq, neq, gt, gte, lt, lte'],
  ],
  [
    'svc_http_monitor',
    { status_code_assertions: times(11, { target: 200, comparator: 'eq' }) },
    ['status_code_assertions: has 11 entries, but at most 10 are allowed'],
  ],
  [
    'svc_http_monitor',
    { body_assertions: times(11, { target: 'a', comparator: 'eq' }) },
    ['body_assertions: has 11 entries, but at most 10 are allowed'],
  ],
  [
    'svc_http_monitor',
    { body_assertions: [{ comparator: 'empty' }] },
    ['body_assertions.0.target: is required'],
  ],
  [
    'svc_http_monitor',
    { body_assertions: [{ target: 'a', comparator: 'matches' }] },
    [
      'body_assertions.0.comparator: "matches" is not one of contains, not_contains, eq, neq, empty, not_empty, gt, gte, lt, lte',
    ],
  ],
  [
    'svc_http_monitor',
    { header_assertions: times(11, { key: 'a', target: 'a', comparator: 'eq' }) },
    ['header_assertions: has 11 entries, but at most 10 are allowed'],
  ],
  [
    'svc_http_monitor',
    { header_assertions: [{ target: 'a', comparator: 'eq' }] },
    ['header_assertions.0.key: is required'],
  ],
  ['svc_tcp_monitor', { uri: 'example.com' }, ['uri: must be host:port, like example.com:443']],
  [
    'svc_tcp_monitor',
    { uri: 'tcp://example.com:443' },
    ['uri: must be host:port without a scheme, like example.com:443'],
  ],
  [
    'svc_tcp_monitor',
    { uri: 'example.com:0' },
    ['uri: has the port "0": ports are whole numbers from 1 to 65535'],
  ],
  [
    'svc_tcp_monitor',
    { uri: 'example.com:65536' },
    ['uri: has the port "65536": ports are whole numbers from 1 to 65535'],
  ],
  [
    'svc_tcp_monitor',
    { uri: 'example.com:http' },
    ['uri: has the port "http": ports are whole numbers from 1 to 65535'],
  ],
  [
    'svc_tcp_monitor',
    { uri: '::1' },
    ['uri: needs brackets around the IPv6 address and a port, like [::1]:443'],
  ],
  [
    'svc_tcp_monitor',
    { uri: 'fe80::zz:443' },
    ['uri: needs brackets around an IPv6 address, like [::1]:443'],
  ],
  [
    'svc_tcp_monitor',
    { uri: '[1.2.3.4]:443' },
    ['uri: has "1.2.3.4" in brackets, which is not an IPv6 address'],
  ],
  [
    'svc_tcp_monitor',
    { uri: '1.2.3.999:443' },
    ['uri: has the host "1.2.3.999", which is neither a host name nor an IP address'],
  ],
  [
    'svc_tcp_monitor',
    { uri: '-a.example:443' },
    ['uri: has the host "-a.example", which is neither a host name nor an IP address'],
  ],
  ['svc_tcp_monitor', { uri: longPort(2_049) }, ['uri: has 2049 characters, but at most 2048 are allowed']],
  ['svc_tcp_monitor', { url: 'https://a' }, ['url: is unknown: did you mean "uri"?']],
  [
    'svc_dns_monitor',
    { uri: 'https://example.com' },
    ['uri: must be a domain name without a scheme, like example.com'],
  ],
  ['svc_dns_monitor', { uri: '192.0.2.1' }, ['uri: must be a domain name, not an IP address']],
  [
    'svc_dns_monitor',
    { uri: 'example.com:53' },
    ['uri: must be a domain name without a port, like example.com'],
  ],
  [
    'svc_dns_monitor',
    { uri: 'example.com/a' },
    ['uri: must be a domain name without a path, like example.com'],
  ],
  ['svc_dns_monitor', { uri: 'a..example' }, ['uri: is not a domain name like example.com']],
  ['svc_dns_monitor', { uri: `${x(64)}.example` }, ['uri: is not a domain name like example.com']],
  [
    'svc_dns_monitor',
    { record_assertions: [{ record: 'NS', target: 'a', comparator: 'gt' }] },
    [
      'record_assertions.0.record: "NS" is not one of A, AAAA, CNAME, MX, TXT',
      'record_assertions.0.comparator: "gt" is not one of eq, neq, contains, not_contains',
    ],
  ],
  [
    'svc_dns_monitor',
    { record_assertions: times(11, { record: 'A', target: 'a', comparator: 'eq' }) },
    ['record_assertions: has 11 entries, but at most 10 are allowed'],
  ],
  [
    'svc_notification',
    { provider_type: 'pigeon' },
    [`provider_type: "pigeon" is not one of ${CHANNEL_KINDS.join(', ')}`],
  ],
  ['svc_notification', { email: null }, ['email: is required when provider_type is email']],
  [
    'svc_notification',
    { sms: { phone_number: '+4915112345678' } },
    ['sms: does not belong to provider_type email: remove it, or set provider_type to sms'],
  ],
  ['svc_notification', { name: x(257) }, ['name: has 257 characters, but at most 256 are allowed']],
  [
    'svc_notification',
    { monitor_ids: ['a'] },
    ['monitor_ids.0: is not an id: use a decimal number as a string, like "12"'],
  ],
  ['svc_notification', { monitor_ids: [12] }, ['monitor_ids.0: must be a string, not a number']],
  ['svc_notification', { email: [{ email: 'a@b.example' }] }, ['email: must be a mapping, not a list']],
  [
    'svc_notification',
    { email: { email: 'ops' } },
    ['email.email: is not an e-mail address like ops@example.com'],
  ],
  ...(
    [
      ['webhook', {}, 'endpoint: is required'],
      ['webhook', { endpoint: 'a' }, 'endpoint: must be a URL that starts with https:// or http://'],
      [
        'webhook',
        { endpoint: 'http://a', headers: [{ key: 'host', value: 'a' }] },
        'headers.0.key: must not be "host": that header is set by the connection itself',
      ],
      [
        'webhook',
        { endpoint: 'http://a', headers: times(21, header) },
        'headers: has 21 entries, but at most 20 are allowed',
      ],
      [
        'sms',
        { phone_number: '0151 123' },
        'phone_number: is not a phone number in international format: + and 7 to 15 digits without spaces, like +4915112345678',
      ],
      ['messenger_b', {}, 'phone_number: is required'],
      [
        'messenger_a',
        { chat_id: 'ops' },
        'chat_id: is not a chat id: use a number like -1001234567890, or the @name of a public channel',
      ],
      ['chat_a', {}, 'webhook_url: is required'],
      ['chat_b', { webhook_url: 'x' }, 'webhook_url: must be a URL that starts with https:// or http://'],
      ['chat_c', {}, 'webhook_url: is required'],
      [
        'incident_a',
        { integration_key: 'a b' },
        'integration_key: must be printable ASCII characters without spaces',
      ],
      ['incident_b', { api_key: 'a', region: 'us-east' }, 'region: "us-east" is not one of us, eu'],
      ['incident_b', { region: 'us' }, 'api_key: is required'],
      ['incident_c', {}, 'webhook_url: is required'],
      [
        'push_a',
        { topic: 'a/b' },
        'topic: is not a topic: use 1 to 64 letters, digits, hyphens and underscores',
      ],
    ] as const
  ).map(
    ([kind, block, issue]): Refused => [
      'svc_notification',
      { provider_type: kind, email: null, [kind]: block },
      [`${kind}.${issue}`],
    ],
  ),
  ['svc_status_page', { title: '' }, ['title: must not be empty']],
  ['svc_status_page', { title: x(257) }, ['title: has 257 characters, but at most 256 are allowed']],
  ['svc_status_page', { slug: '' }, ['slug: must not be empty']],
  ['svc_status_page', { slug: x(257) }, ['slug: has 257 characters, but at most 256 are allowed']],
  ...['A', 'a b', '-a', 'a/b', 'ü'].map(
    (slug): Refused => [
      'svc_status_page',
      { slug },
      ['slug: must consist of the letters a to z, digits, and hyphens between them'],
    ],
  ),
  [
    'svc_status_page',
    { description: x(1_025) },
    ['description: has 1025 characters, but at most 1024 are allowed'],
  ],
  [
    'svc_status_page',
    { homepage_url: 'javascript:alert(1)' },
    ['homepage_url: must be a URL that starts with https:// or http://'],
  ],
  [
    'svc_status_page',
    { contact_url: 'tel:1' },
    ['contact_url: must be a URL that starts with https:// or http:// or mailto:'],
  ],
  [
    'svc_status_page',
    { custom_domain: 'https://a.example' },
    ['custom_domain: must be a domain name without a scheme, like example.com'],
  ],
  ['svc_status_page', { custom_domain: 'Status.example.com' }, ['custom_domain: must be in lower case']],
  [
    'svc_status_page',
    { access_type: 'private' },
    ['access_type: "private" is not one of public, password, email-domain'],
  ],
  ['svc_status_page', { access_type: 'password' }, ['password: is required when access_type is password']],
  ['svc_status_page', { access_type: 'password', password: '' }, ['password: must not be empty']],
  [
    'svc_status_page',
    { access_type: 'email-domain' },
    ['auth_email_domains: needs at least one domain when access_type is email-domain'],
  ],
  [
    'svc_status_page',
    { access_type: 'email-domain', auth_email_domains: [] },
    ['auth_email_domains: needs at least one domain when access_type is email-domain'],
  ],
  [
    'svc_status_page',
    { auth_email_domains: ['@example.com'] },
    ['auth_email_domains.0: must be the part after the @ only, like example.com'],
  ],
  ['svc_status_page_component', { page_id: undefined }, ['page_id: is required']],
  ['svc_status_page_component', { type: 'group' }, ['type: "group" is not one of monitor, static']],
  ['svc_status_page_component', { type: 'monitor' }, ['monitor_id: is required when type is monitor']],
  [
    'svc_status_page_component',
    { monitor_id: '1' },
    ['monitor_id: is only for type monitor: remove it, or set type to monitor'],
  ],
  ['svc_status_page_component', { name: x(257) }, ['name: has 257 characters, but at most 256 are allowed']],
  [
    'svc_status_page_component',
    { description: x(1_025) },
    ['description: has 1025 characters, but at most 1024 are allowed'],
  ],
  ['svc_status_page_component', { order: 1.5 }, ['order: is 1.5, but must be a whole number']],
  ['svc_status_page_component_group', { name: '' }, ['name: must not be empty']],
  [
    'svc_status_page_component_group',
    { name: x(257) },
    ['name: has 257 characters, but at most 256 are allowed'],
  ],
  [
    'svc_status_page_component_group',
    { page_id: '01' },
    ['page_id: is not an id: use a decimal number as a string, like "12"'],
  ],
];

test.each(REFUSED.map(([kind, members, issues]) => ({ kind, members, issues, name: shown(members) })))(
  '$kind refuses $name',
  ({ kind, members, issues }) => {
    const input = Object.fromEntries(
      Object.entries({ ...VALID[kind], ...members }).filter(([, value]) => value !== undefined),
    );
    const parsed = parseResource(kind, input, 'api');
    expect(
      parsed.ok ? [] : parsed.issues.map(({ path, message }) => `${path.join('.')}: ${message}`),
    ).toEqual(issues);
  },
);
