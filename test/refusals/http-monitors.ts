import { header, longUrl, times, x } from '../support/resources.ts';
import { MASK_SENT, NOT_A_REGION, OF_THE_CONNECTION, type Row, terraformRequires } from './refusal.ts';

const HTTP = 'svc_http_monitor';
const status = { target: 200, comparator: 'eq' };
const body = { target: 'a', comparator: 'eq' };

/** Each rule of what only HTTP monitors have, broken. */
export const HTTP_MONITORS: readonly Row[] = [
  [HTTP, { url: undefined }, 'url: is required', terraformRequires('url')],
  [
    HTTP,
    { name: undefined, url: undefined },
    ['name: is required', 'url: is required'],
    terraformRequires('name'),
  ],
  [
    HTTP,
    { intervall: 1 },
    'intervall: is unknown: allowed are name, url, method, body, follow_redirects, certificate_expiry_days, periodicity, timeout, degraded_at, retry, active, public, description, regions, quorum, confirm_after, recover_after, otlp_endpoint, otlp_headers, headers, status_code_assertions, body_assertions, header_assertions',
    { terraform: /No argument or block type is named "intervall"/ },
  ],
  [HTTP, { url: '' }, 'url: must not be empty'],
  [HTTP, { url: longUrl(2_049) }, 'url: has 2049 characters, but at most 2048 are allowed'],
  [HTTP, { url: 'example.com' }, 'url: must be a URL that starts with https:// or http://'],
  [HTTP, { url: 'ftp://a' }, 'url: must be a URL that starts with https:// or http://'],
  [HTTP, { url: 'http:a' }, 'url: must be a URL that starts with https:// or http://'],
  [HTTP, { url: 'https://' }, 'url: is not a valid URL'],
  [HTTP, { url: 'http://a:70000/' }, 'url: is not a valid URL'],
  [HTTP, { url: 'http://a:0/' }, 'url: must not name port 0'],
  [
    HTTP,
    { url: 'https://a/b c' },
    'url: must not contain spaces or control characters: write a space as %20',
  ],
  [HTTP, { url: ' https://a' }, 'url: must not contain spaces or control characters: write a space as %20'],
  [
    HTTP,
    { url: 'https:///user:hunter2@a/' },
    'url: is not a valid URL: there are too many slashes after the scheme',
  ],
  [
    HTTP,
    { url: 'https://********@a/' },
    'url: contains the mask that read tokens see: write the secret itself',
  ],
  [
    HTTP,
    { method: 'get' },
    'method: "get" is not one of GET, POST, HEAD, PUT, PATCH, DELETE, OPTIONS: did you mean "GET"?',
  ],
  [HTTP, { method: 'TRACE' }, 'method: "TRACE" is not one of GET, POST, HEAD, PUT, PATCH, DELETE, OPTIONS'],
  [HTTP, { body: x(262_145) }, 'body: has 262145 bytes, but at most 262144 are allowed'],
  [HTTP, { body: 'ü'.repeat(131_073) }, 'body: has 262146 bytes, but at most 262144 are allowed'],
  [HTTP, { body: '\u0001'.repeat(53_500) }, ': has 321438 bytes as JSON, but at most 319488 are allowed'],
  [HTTP, { certificate_expiry_days: 399 }, 'certificate_expiry_days: is 399, but must be from 0 to 398'],
  [HTTP, { certificate_expiry_days: 0.5 }, 'certificate_expiry_days: is 0.5, but must be a whole number'],
  [HTTP, { headers: {} }, 'headers: must be a list, not a mapping', terraformRequires('key')],
  [
    HTTP,
    { headers: times(21, header) },
    'headers: has 21 entries, but at most 20 are allowed',
    { terraform: /Too many headers blocks/ },
  ],
  [HTTP, { headers: [{ value: 'a' }] }, 'headers.0.key: is required', terraformRequires('key')],
  [HTTP, { headers: [{ key: 'a' }] }, 'headers.0.value: is required', terraformRequires('value')],
  [HTTP, { headers: [{ key: '', value: 'a' }] }, 'headers.0.key: must not be empty'],
  [
    HTTP,
    { headers: [header, { key: 'X-A:', value: 'a' }] },
    'headers.1.key: is not a header name: use letters, digits and hyphens, without spaces or a colon',
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
  ].map((key): Row => [HTTP, { headers: [{ key, value: 'a' }] }, `headers.0.key: ${OF_THE_CONNECTION}`]),
  ...['a\r\nb', 'a\nb', 'a\u0000b'].map(
    (value): Row => [
      HTTP,
      { headers: [{ key: 'a', value }] },
      'headers.0.value: must not contain line breaks or NUL',
    ],
  ),
  [
    HTTP,
    { headers: [{ key: 'a', value: '検' }] },
    'headers.0.value: contains characters that an HTTP header cannot carry: use Latin-1 characters, and encode others',
  ],
  [
    HTTP,
    { headers: [{ key: 'a', value: x(8_193) }] },
    'headers.0.value: has 8193 bytes, but at most 8192 are allowed',
  ],
  [
    HTTP,
    { headers: [{ ...header, valeu: 'a' }] },
    'headers.0.valeu: is unknown: did you mean "value"?',
    { terraform: /No argument or block type is named "valeu"/ },
  ],
  [HTTP, { headers: [header, { key: 'a', value: '********' }] }, `headers.1.value: ${MASK_SENT}`],
  [
    HTTP,
    { status_code_assertions: [{ ...status, target: 99 }] },
    'status_code_assertions.0.target: is 99, but must be from 100 to 599',
  ],
  [
    HTTP,
    { status_code_assertions: [status, { ...status, target: 600 }] },
    'status_code_assertions.1.target: is 600, but must be from 100 to 599',
  ],
  [
    HTTP,
    { status_code_assertions: [{ ...status, target: 200.5 }] },
    'status_code_assertions.0.target: is 200.5, but must be a whole number',
  ],
  [
    HTTP,
    { status_code_assertions: [{ ...status, target: 'ok' }] },
    'status_code_assertions.0.target: must be a number, not a string',
    { terraform: /a number is required/ },
  ],
  [
    HTTP,
    { status_code_assertions: [{ ...status, comparator: 'contains' }] },
    'status_code_assertions.0.comparator: "contains" is not one of eq, neq, gt, gte, lt, lte',
  ],
  [
    HTTP,
    { status_code_assertions: times(11, status) },
    'status_code_assertions: has 11 entries, but at most 10 are allowed',
    { terraform: /Too many status_code_assertions blocks/ },
  ],
  [
    HTTP,
    { body_assertions: times(11, body) },
    'body_assertions: has 11 entries, but at most 10 are allowed',
    { terraform: /Too many body_assertions blocks/ },
  ],
  [
    HTTP,
    { body_assertions: [{ comparator: 'empty' }] },
    'body_assertions.0.target: is required',
    terraformRequires('target'),
  ],
  [
    HTTP,
    { body_assertions: [{ ...body, comparator: 'not_contain' }] },
    'body_assertions.0.comparator: "not_contain" is not one of contains, not_contains, eq, neq, empty, not_empty, gt, gte, lt, lte: did you mean "not_contains"?',
  ],
  [
    HTTP,
    { body_assertions: [{ ...body, target: x(8_193) }] },
    'body_assertions.0.target: has 8193 characters, but at most 8192 are allowed',
  ],
  [
    HTTP,
    { header_assertions: times(11, { ...body, key: 'a' }) },
    'header_assertions: has 11 entries, but at most 10 are allowed',
    { terraform: /Too many header_assertions blocks/ },
  ],
  [HTTP, { header_assertions: [body] }, 'header_assertions.0.key: is required', terraformRequires('key')],
  [HTTP, { header_assertions: [{ ...body, key: '' }] }, 'header_assertions.0.key: must not be empty'],
  [
    HTTP,
    { header_assertions: [{ ...body, key: 'a b' }] },
    'header_assertions.0.key: is not a header name: use letters, digits and hyphens, without spaces or a colon',
  ],
  [
    HTTP,
    { header_assertions: [{ key: 'a', target: 'a', comparator: 'matches' }] },
    'header_assertions.0.comparator: "matches" is not one of contains, not_contains, eq, neq, empty, not_empty, gt, gte, lt, lte',
  ],
  [
    HTTP,
    { name: '', periodicity: 'daily', retry: 11, regions: ['hosta-mars', 'hosta-venus'] },
    [
      'name: must not be empty',
      'periodicity: "daily" is not one of 30s, 1m, 5m, 10m, 30m, 1h',
      'retry: is 11, but must be from 0 to 10',
      'regions.0: "hosta-mars" is not a region: did you mean "hosta-ams"?',
      `regions.1: "hosta-venus" ${NOT_A_REGION}`,
    ],
  ],
];
