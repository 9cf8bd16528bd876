import { header, longPort, times, x } from '../support/resources.ts';
import { HTTP_MONITORS } from './http-monitors.ts';
import {
  IGNORED_BY_THE_API,
  MASK_SENT,
  MONITORS,
  NOT_A_REGION,
  OF_THE_CONNECTION,
  type Row,
  terraformRequires,
} from './refusal.ts';

const TCP = 'svc_tcp_monitor';
const DNS = 'svc_dns_monitor';

const OTLP_OVER_HTTP =
  'metrics go out by OTLP over HTTP only. Use the HTTP endpoint of the same receiver, most often port 4318, like https://collector.example.com:4318';
const NO_PORT = 'uri: has an invalid port: ports are whole numbers from 1 to 65535';
const record = { record: 'A', target: 'a', comparator: 'eq' };

/** What the three kinds of monitor have in common. */
const EVERY_MONITOR: readonly Row[] = [
  [MONITORS, { name: undefined }, 'name: is required', terraformRequires('name')],
  [MONITORS, { name: null }, 'name: is required', { terraform: 'name: is required, but it is null' }],
  [MONITORS, { name: '' }, 'name: must not be empty'],
  [MONITORS, { name: x(257) }, 'name: has 257 characters, but at most 256 are allowed'],
  [MONITORS, { name: '🙂'.repeat(257) }, 'name: has 257 characters, but at most 256 are allowed'],
  [MONITORS, { name: 'a\nb' }, 'name: must be one line without control characters'],
  [MONITORS, { name: 'a\u009bb' }, 'name: must be one line without control characters'],
  [MONITORS, { name: 'a\u202eb' }, 'name: must not contain characters that change the direction of the text'],
  [
    MONITORS,
    { name: 'a\ud800' },
    'name: contains half of a surrogate pair, which is not a character',
    // It makes another character of it.
    { terraform: null },
  ],
  [
    MONITORS,
    { name: 12 },
    'name: must be a string, not a number',
    // It makes a string of it.
    { terraform: null },
  ],
  [MONITORS, { periodicity: undefined }, 'periodicity: is required', terraformRequires('periodicity')],
  [MONITORS, { periodicity: '2m' }, 'periodicity: "2m" is not one of 30s, 1m, 5m, 10m, 30m, 1h'],
  [
    MONITORS,
    { periodicity: '1M' },
    'periodicity: "1M" is not one of 30s, 1m, 5m, 10m, 30m, 1h: did you mean "1m"?',
  ],
  [MONITORS, { periodicity: 'hourly' }, 'periodicity: "hourly" is not one of 30s, 1m, 5m, 10m, 30m, 1h'],
  [MONITORS, { periodicity: '' }, 'periodicity: "" is not one of 30s, 1m, 5m, 10m, 30m, 1h'],
  [
    MONITORS,
    { periodicity: 60 },
    'periodicity: must be a string, not a number',
    { terraform: 'periodicity: "60" is not one of 30s, 1m, 5m, 10m, 30m, 1h' },
  ],
  [MONITORS, { timeout: -1 }, 'timeout: is -1, but must be from 0 to 120000'],
  [MONITORS, { timeout: 120_001 }, 'timeout: is 120001, but must be from 0 to 120000'],
  [MONITORS, { timeout: 1.5 }, 'timeout: is 1.5, but must be a whole number'],
  [MONITORS, { timeout: 2 ** 64 }, 'timeout: is 18446744073709552000, but must be from 0 to 120000'],
  [
    MONITORS,
    { timeout: '45s' },
    'timeout: must be a number, not a string',
    { terraform: /a number is required/ },
  ],
  [MONITORS, { degraded_at: -0.5 }, 'degraded_at: is -0.5, but must be 0 or more'],
  [
    MONITORS,
    { degraded_at: 2 ** 53 },
    'degraded_at: is 9007199254740992, but must be from 0 to 9007199254740991',
  ],
  [MONITORS, { retry: 11 }, 'retry: is 11, but must be from 0 to 10'],
  [MONITORS, { retry: -1 }, 'retry: is -1, but must be from 0 to 10'],
  [MONITORS, { retry: 0.5 }, 'retry: is 0.5, but must be a whole number'],
  [
    MONITORS,
    { active: 'yes' },
    'active: must be a boolean, not a string',
    { terraform: /a bool is required/ },
  ],
  [MONITORS, { public: 1 }, 'public: must be a boolean, not a number', { terraform: /bool required/ }],
  [MONITORS, { description: x(1_025) }, 'description: has 1025 characters, but at most 1024 are allowed'],
  [
    MONITORS,
    { regions: 'hosta-fra' },
    'regions: must be a list, not a string',
    { terraform: /set of string required/ },
  ],
  [
    MONITORS,
    { regions: ['hosta-fra', 'hosta-amd'] },
    'regions.1: "hosta-amd" is not a region: did you mean "hosta-ams"?',
  ],
  // A plan of Terraform asks the API for its regions, see the flows of the provider.
  [MONITORS, { regions: ['mars'] }, `regions.0: "mars" ${NOT_A_REGION}`, { terraform: null }],
  [MONITORS, { regions: ['HOSTB-PAR'] }, 'regions.0: "HOSTB-PAR" is not a region: did you mean "hostb-par"?'],
  [MONITORS, { confirm_after: 0 }, 'confirm_after: is 0, but must be from 1 to 10'],
  [MONITORS, { recover_after: 11 }, 'recover_after: is 11, but must be from 1 to 10'],
  [MONITORS, { confirm_after: 1.5 }, 'confirm_after: is 1.5, but must be a whole number'],
  [MONITORS, { quorum: 'most' }, 'quorum: must be majority, any, all or a number from 1 to 28'],
  [MONITORS, { quorum: '29' }, 'quorum: must be majority, any, all or a number from 1 to 28'],
  [MONITORS, { quorum: '02' }, 'quorum: must be majority, any, all or a number from 1 to 28'],
  [
    MONITORS,
    { quorum: 0 },
    'quorum: is 0, but must be from 1 to 28',
    // It makes a string of it.
    { terraform: 'quorum: must be majority, any, all or a number from 1 to 28' },
  ],
  [
    MONITORS,
    { quorum: 1.5 },
    'quorum: is 1.5, but must be a whole number',
    { terraform: 'quorum: must be majority, any, all or a number from 1 to 28' },
  ],
  [MONITORS, { quorum: [2] }, 'quorum: must be a string, not a list', { terraform: /string required/ }],
  [
    MONITORS,
    { otlp_endpoint: 'collector:4318' },
    'otlp_endpoint: must be a URL that starts with https:// or http://',
  ],
  [MONITORS, { otlp_endpoint: 'grpc://a' }, `otlp_endpoint: is an address of gRPC: ${OTLP_OVER_HTTP}`],
  [
    MONITORS,
    { otlp_endpoint: 'http://a:4317' },
    `otlp_endpoint: has port 4317, which is gRPC: ${OTLP_OVER_HTTP}`,
  ],
  [
    MONITORS,
    { otlp_endpoint: 'https://user:hunter2@a/' },
    'otlp_endpoint: must not contain a user name or password: send them in a header',
  ],
  // The coordinator has the operator's rules. The other ways to declare meet them at the apply.
  [
    MONITORS,
    { otlp_endpoint: 'http://10.0.0.1:4318' },
    'otlp_endpoint: is at 10.0.0.1, which svc does not connect to (10.0.0.0/8, private): the operator may allow it by SVC_CHANNEL_EGRESS_ALLOW',
    { file: null, terraform: null },
  ],
  [MONITORS, { otlp_headers: { Host: 'a' } }, `otlp_headers.Host: ${OF_THE_CONNECTION}`],
  [
    MONITORS,
    { otlp_headers: { 'a b': 'c' } },
    'otlp_headers.a b: is not a header name: use letters, digits and hyphens, without spaces or a colon',
  ],
  [MONITORS, { otlp_headers: { a: 'b\nc' } }, 'otlp_headers.a: must not contain line breaks or NUL'],
  [
    MONITORS,
    { otlp_headers: { a: 1 } },
    'otlp_headers.a: must be a string, not a number',
    // It makes a string of it.
    { terraform: null },
  ],
  // What is the mask is told only as that.
  [
    MONITORS,
    { otlp_endpoint: 'https://********@example.com/' },
    'otlp_endpoint: contains the mask that read tokens see: write the secret itself',
  ],
  [MONITORS, { otlp_headers: { a: '********' } }, `otlp_headers.a: ${MASK_SENT}`],
  [
    MONITORS,
    { periodicty: '1m' },
    'periodicty: is unknown: did you mean "periodicity"?',
    { terraform: /No argument or block type is named "periodicty"/ },
  ],
  [MONITORS, { id: '7' }, 'id: is set by the service: remove it', IGNORED_BY_THE_API],
  [MONITORS, { status: 'active' }, 'status: is set by the service: remove it', IGNORED_BY_THE_API],
];

const TCP_MONITORS: readonly Row[] = [
  [TCP, { uri: 'example.com' }, 'uri: must be host:port, like example.com:443'],
  [TCP, { uri: 'tcp://a.example:443' }, 'uri: must be host:port without a scheme, like example.com:443'],
  [TCP, { uri: 'example.com:0' }, NO_PORT],
  [TCP, { uri: 'example.com:65536' }, NO_PORT],
  [TCP, { uri: 'example.com:http' }, NO_PORT],
  [TCP, { uri: '::1' }, 'uri: needs brackets around the IPv6 address and a port, like [::1]:443'],
  [TCP, { uri: '2001:db8::1:443' }, 'uri: needs brackets around the IPv6 address and a port, like [::1]:443'],
  [TCP, { uri: 'fe80::zz:443' }, 'uri: needs brackets around an IPv6 address, like [::1]:443'],
  [TCP, { uri: '[1.2.3.4]:443' }, 'uri: has brackets around what is not an IPv6 address'],
  [TCP, { uri: '1.2.3.999:443' }, 'uri: has a host that is neither a host name nor an IP address'],
  [TCP, { uri: '-a.example:443' }, 'uri: has a host that is neither a host name nor an IP address'],
  [TCP, { uri: longPort(2_049) }, 'uri: has 2049 characters, but at most 2048 are allowed'],
  [
    TCP,
    { url: 'https://a' },
    'url: is unknown: did you mean "uri"?',
    { terraform: /No argument or block type is named "url"/ },
  ],
  [
    TCP,
    { headers: [header] },
    'headers: is unknown: allowed are name, uri, periodicity, timeout, degraded_at, retry, active, public, description, regions, quorum, confirm_after, recover_after, otlp_endpoint, otlp_headers',
    { terraform: /No argument or block type is named "headers"/ },
  ],
  [
    TCP,
    { certificate_expiry_days: 7 },
    'certificate_expiry_days: is unknown: allowed are name, uri, periodicity, timeout, degraded_at, retry, active, public, description, regions, quorum, confirm_after, recover_after, otlp_endpoint, otlp_headers',
    { terraform: /No argument or block type is named "certificate_expiry_days"/ },
  ],
];

const DNS_MONITORS: readonly Row[] = [
  [DNS, { uri: undefined }, 'uri: is required', terraformRequires('uri')],
  [DNS, { uri: 'https://example.com' }, 'uri: must be a domain name without a scheme, like example.com'],
  [DNS, { uri: '192.0.2.1' }, 'uri: must be a domain name, not an IP address'],
  [DNS, { uri: 'example.com:53' }, 'uri: must be a domain name without a port, like example.com'],
  [DNS, { uri: 'example.com/a' }, 'uri: must be a domain name without a path, like example.com'],
  [DNS, { uri: 'a..example' }, 'uri: is not a domain name like example.com'],
  [DNS, { uri: `${x(64)}.example` }, 'uri: is not a domain name like example.com'],
  [DNS, { uri: x(2_049) }, 'uri: has 2049 characters, but at most 2048 are allowed'],
  [
    DNS,
    { record_assertions: [{ record: 'NS', target: 'a', comparator: 'matches' }] },
    [
      'record_assertions.0.record: "NS" is not one of A, AAAA, CNAME, MX, TXT',
      'record_assertions.0.comparator: "matches" is not one of eq, neq, contains, not_contains',
    ],
  ],
  [
    DNS,
    { record_assertions: [record, record, { ...record, comparator: 'gt' }] },
    'record_assertions.2.comparator: "gt" is not one of eq, neq, contains, not_contains',
  ],
  [
    DNS,
    { record_assertions: [{ ...record, target: x(8_193) }] },
    'record_assertions.0.target: has 8193 characters, but at most 8192 are allowed',
  ],
  [
    DNS,
    { record_assertions: times(11, record) },
    'record_assertions: has 11 entries, but at most 10 are allowed',
    { terraform: /Too many record_assertions blocks/ },
  ],
];

/** Each rule of the monitors' attributes and blocks, broken. */
export const MONITOR_ROWS: readonly Row[] = [
  ...EVERY_MONITOR,
  ...HTTP_MONITORS,
  ...TCP_MONITORS,
  ...DNS_MONITORS,
];
