import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningApi, startApi } from '../../../../test/support/api.ts';
import { rowsOf } from '../../../../test/support/store-rows.ts';
import { RESOURCE_TABLES } from '../store/declaration/resources.ts';

/**
 * Bad requests with their exact answers. No bad request changes a stored row. Invalid
 * values of a resource are in the table of `test/refusals/`, for every way to declare it.
 */

const MONITOR = { type: 'http', name: 'Shop', url: 'https://shop.example/', periodicity: '1m' };
const TCP = { type: 'tcp', name: 'Port', uri: 'shop.example:443', periodicity: '1m' };
const WEBHOOK = { provider_type: 'webhook', webhook: { endpoint: 'https://hook.example/' } };

let api: RunningApi;
const ids: Record<string, string> = {};

beforeAll(async () => {
  api = await startApi();
  const make = async (name: string, path: string, body: object) => {
    ids[name] = await api.create(path, body);
  };
  await make('monitor', '/v1/monitors', MONITOR);
  await make('notification', '/v1/notifications', WEBHOOK);
  await make('page', '/v1/status-pages', { title: 'A', slug: 'taken' });
  await make('shown', '/v1/monitors', MONITOR);
  await make('component', `/v1/status-pages/${ids.page}/components`, {
    type: 'monitor',
    monitor_id: ids.shown,
  });
  const fileOwned = await api.configuration.transaction(
    { workspaceId: api.workspaceId, actor: 'file' },
    (change) =>
      change.create(
        'svc_status_page_component_group',
        { page_id: String(ids.page), name: 'G' },
        { localName: 'main' },
      ),
  );
  ids.group = String(fileOwned);
});

afterAll(() => api.dispose());

/** Reads all rows of these tables, to compare them before and after a request. */
async function everything(): Promise<unknown[]> {
  const tables = [...RESOURCE_TABLES, 'links', 'tokens', 'deliveries', 'idempotency_keys'] as const;
  return Promise.all(tables.map((table) => rowsOf(api.store, table)));
}

type Detail = { pointer: string; parameter?: string; message: string };
type Row = [
  name: string,
  request: [method: string, path: string, body?: unknown, headers?: Record<string, string>],
  answer: [status: number, code: string, detail: string, errors?: Detail[]],
];

const ONE = 'the body has 1 error; nothing was changed';
const QUERY = 'the query is not valid';
const UNKNOWN =
  'is unknown: allowed are name, url, method, body, follow_redirects, certificate_expiry_days, periodicity, timeout, degraded_at, retry, active, public, description, regions, quorum, confirm_after, recover_after, otlp_endpoint, otlp_headers, headers, status_code_assertions, body_assertions, header_assertions';
const big = (bytes: number) => JSON.stringify({ ...MONITOR, description: 'x'.repeat(bytes) });

const ROWS: Row[] = [
  // Tokens and scopes
  [
    'no token',
    ['GET', '/v1/monitors', undefined, { authorization: '' }],
    [401, 'unauthorized', 'send the header `Authorization: Bearer <token>`'],
  ],
  [
    'another scheme',
    ['GET', '/v1/monitors', undefined, { authorization: 'Basic eDp5' }],
    [401, 'unauthorized', 'send the header `Authorization: Bearer <token>`'],
  ],
  [
    'an unknown token',
    ['GET', '/v1/monitors', undefined, { authorization: 'Bearer nope' }],
    [401, 'unauthorized', 'the token is unknown or revoked'],
  ],
  [
    'a read token that writes',
    ['POST', '/v1/monitors', MONITOR, { authorization: 'Bearer READER' }],
    [403, 'forbidden', 'this request needs a token of scope write'],
  ],
  // Paths
  ['no such path', ['GET', '/v1/nothing'], [404, 'not-found', 'the API has no such path']],
  ['an id that is none', ['GET', '/v1/monitors/abc'], [404, 'not-found', 'the API has no such path']],
  ['no such monitor', ['GET', '/v1/monitors/999'], [404, 'not-found', 'there is no monitor 999']],
  [
    'no such monitor to replace',
    ['PUT', '/v1/monitors/999', MONITOR],
    [404, 'not-found', 'there is no monitor 999'],
  ],
  [
    'no such page for a component',
    ['GET', '/v1/status-pages/999/components'],
    [404, 'not-found', 'there is no status page 999'],
  ],
  [
    'a method that the path has not',
    ['PATCH', '/v1/monitors', MONITOR],
    [405, 'method-not-allowed', 'this path takes only GET, HEAD, POST'],
  ],
  // The query
  [
    'a limit of 0',
    ['GET', '/v1/monitors?limit=0'],
    [
      400,
      'malformed-request',
      QUERY,
      [{ pointer: '', parameter: 'limit', message: 'must be a whole number from 1 to 100' }],
    ],
  ],
  [
    'a limit of 101',
    ['GET', '/v1/monitors?limit=101'],
    [
      400,
      'malformed-request',
      QUERY,
      [{ pointer: '', parameter: 'limit', message: 'must be a whole number from 1 to 100' }],
    ],
  ],
  [
    'an offset that is no number',
    ['GET', '/v1/monitors?offset=-1'],
    [
      400,
      'malformed-request',
      QUERY,
      [{ pointer: '', parameter: 'offset', message: 'must be a whole number from 0 to 9007199254740991' }],
    ],
  ],
  [
    'an unknown parameter',
    ['GET', '/v1/monitors?page=2'],
    [400, 'malformed-request', QUERY, [{ pointer: '', parameter: 'page', message: 'is unknown' }]],
  ],
  [
    'a parameter called as what objects have',
    ['GET', '/v1/monitors?__proto__=1'],
    [400, 'malformed-request', QUERY, [{ pointer: '', parameter: '__proto__', message: 'is unknown' }]],
  ],
  [
    'a parameter given twice',
    ['GET', '/v1/monitors?limit=1&limit=2'],
    [400, 'malformed-request', QUERY, [{ pointer: '', parameter: 'limit', message: 'is given twice' }]],
  ],
  [
    'an unknown type',
    ['GET', '/v1/monitors?type=icmp'],
    [
      400,
      'malformed-request',
      QUERY,
      [{ pointer: '', parameter: 'type', message: 'must be one of http, tcp, dns' }],
    ],
  ],
  [
    'a cursor that is none of ours',
    ['GET', '/v1/monitors/MONITOR/results?cursor=zzz'],
    [
      400,
      'malformed-request',
      QUERY,
      [{ pointer: '', parameter: 'cursor', message: 'is not a cursor of this list' }],
    ],
  ],
  // The body as a whole
  [
    'no content-type',
    ['POST', '/v1/monitors', JSON.stringify(MONITOR), { 'content-type': '' }],
    [415, 'unsupported-media-type', 'send the body as application/json; the request has no content-type'],
  ],
  [
    'a form',
    ['POST', '/v1/monitors', 'name=x', { 'content-type': 'application/x-www-form-urlencoded' }],
    [
      415,
      'unsupported-media-type',
      'send the body as application/json; the request has another content-type',
    ],
  ],
  [
    'a compressed body',
    ['POST', '/v1/monitors', JSON.stringify(MONITOR), { 'content-encoding': 'gzip' }],
    [415, 'unsupported-media-type', 'send the body without a content-encoding'],
  ],
  [
    'an empty body',
    ['POST', '/v1/monitors', '', { 'content-type': 'application/json' }],
    [400, 'malformed-request', 'the body is empty', [{ pointer: '', message: 'the body is empty' }]],
  ],
  [
    'a body of many levels, which would exhaust the stack',
    ['POST', '/v1/monitors', `{"type":"http","name":${'['.repeat(20_000)}${']'.repeat(20_000)}}`],
    [
      400,
      'malformed-request',
      'the body is nested more than 32 levels deep',
      [{ pointer: '', message: 'the body is nested more than 32 levels deep' }],
    ],
  ],
  [
    'JSON that breaks off',
    ['POST', '/v1/monitors', '{"name": "geheim"'],
    [
      400,
      'malformed-request',
      'the body is not JSON: line 1, column 18',
      [{ pointer: '', message: 'the body is not JSON: line 1, column 18' }],
    ],
  ],
  [
    'a body of more than 320 KiB',
    ['POST', '/v1/monitors', big(327_680)],
    [413, 'too-large', 'the body may have at most 327680 bytes'],
  ],
  [
    'a list',
    ['PUT', '/v1/monitors/MONITOR', []],
    [422, 'invalid', ONE, [{ pointer: '', message: 'must be a mapping, not a list' }]],
  ],
  // Monitors
  [
    'no type',
    ['POST', '/v1/monitors', { name: 'a' }],
    [422, 'invalid', ONE, [{ pointer: '/type', message: 'is required: http, tcp or dns' }]],
  ],
  [
    'an unknown type of monitor',
    ['POST', '/v1/monitors', { ...MONITOR, type: 'icmp' }],
    [422, 'invalid', ONE, [{ pointer: '/type', message: 'must be http, tcp or dns' }]],
  ],
  [
    'a member with a slash in its name',
    ['POST', '/v1/monitors', { ...MONITOR, 'a/b~': 1 }],
    [422, 'invalid', ONE, [{ pointer: '/a~1b~0', message: UNKNOWN }]],
  ],
  [
    'another type than the monitor has',
    ['PUT', '/v1/monitors/MONITOR', TCP],
    [
      422,
      'invalid',
      'the body has 3 errors; nothing was changed',
      [
        { pointer: '/type', message: 'is "tcp", but this resource\'s type is "http" and cannot be changed' },
        { pointer: '/url', message: 'is required' },
        { pointer: '/uri', message: 'is unknown: did you mean "url"?' },
      ],
    ],
  ],
  [
    'a version that is gone',
    ['PUT', '/v1/monitors/MONITOR', MONITOR, { 'if-match': '"77"' }],
    [412, 'precondition-failed', 'monitor MONITOR has version 1, not 77: it was changed in between'],
  ],
  [
    'an Idempotency-Key with a space',
    ['POST', '/v1/monitors', MONITOR, { 'idempotency-key': 'a b' }],
    [400, 'malformed-request', 'Idempotency-Key must be 1 to 255 printable ASCII characters without spaces'],
  ],
  // Notifications
  [
    'a monitor that is not there',
    ['POST', '/v1/notifications', { ...WEBHOOK, monitor_ids: ['998'] }],
    [
      404,
      'reference-not-found',
      'there is no monitor 998; nothing was changed',
      [{ pointer: '/monitor_ids/0', message: 'there is no monitor 998' }],
    ],
  ],
  ['no such delivery', ['POST', '/v1/deliveries/5/retry'], [404, 'not-found', 'there is no delivery 5']],
  [
    'no such channel to test',
    ['POST', '/v1/notifications/5555/test'],
    [404, 'not-found', 'there is no notification 5555'],
  ],
  // Status pages
  [
    'a slug that is taken',
    ['POST', '/v1/status-pages', { title: 'B', slug: 'taken' }],
    [
      409,
      'conflict',
      'another status page has this slug',
      [{ pointer: '/slug', message: 'another status page has this slug' }],
    ],
  ],
  [
    'a component of another page',
    ['POST', '/v1/status-pages/PAGE/components', { type: 'static', page_id: '77' }],
    [
      422,
      'invalid',
      ONE,
      [{ pointer: '/page_id', message: 'must be PAGE, the page in the path, or omitted' }],
    ],
  ],
  [
    'what the declared file owns',
    ['PUT', '/v1/status-pages/PAGE/component-groups/GROUP', { name: 'H' }],
    [
      409,
      'conflict',
      'component group GROUP cannot be changed over the API: it is declared in monitors.yaml as "main": change it there',
    ],
  ],
  [
    'a monitor that a page shows',
    ['DELETE', '/v1/monitors/SHOWN'],
    [
      409,
      'conflict',
      'monitor SHOWN is shown by component 1 of status page PAGE: remove the components first, or repeat with ?cascade=true to remove them too, or with ?components=keep to leave it in place, showing nothing',
    ],
  ],
  [
    'components kept and removed at once',
    ['DELETE', '/v1/monitors/SHOWN?cascade=true&components=keep'],
    [
      400,
      'malformed-request',
      QUERY,
      [{ pointer: '', parameter: 'components', message: 'must not be keep when cascade is true' }],
    ],
  ],
  // Tokens
  [
    'a token without a scope',
    ['POST', '/v1/tokens', { name: 'x' }],
    [422, 'invalid', ONE, [{ pointer: '/scope', message: 'must be read, write or admin' }]],
  ],
  [
    'a token with an unknown member',
    ['POST', '/v1/tokens', { name: 'x', scope: 'read', admin: true }],
    [422, 'invalid', ONE, [{ pointer: '/admin', message: 'is unknown' }]],
  ],
];

/** Replaces place holders by ids, which are not known before the set-up. */
function filled<T>(value: T): T {
  const text = JSON.stringify(value)
    .replaceAll('MONITOR', ids.monitor ?? '')
    .replaceAll('NOTIFICATION', ids.notification ?? '')
    .replaceAll('PAGE', ids.page ?? '')
    .replaceAll('GROUP', ids.group ?? '')
    .replaceAll('SHOWN', ids.shown ?? '')
    .replaceAll('READER', api.reader);
  return JSON.parse(text);
}

describe('bad requests', () => {
  test.each(ROWS)('%s', async (_name, request, [status, code, detail, errors = []]) => {
    const [method, path, body, headers] = request;
    const before = await everything();
    const answer = await api.call(method, filled(path), body, headers && filled(headers));
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.body).toEqual({
      type: `urn:svc:problem:${code}`,
      title: expect.any(String),
      status,
      detail: filled(detail),
      request_id: answer.headers.get('x-request-id'),
      errors: filled(errors),
    });
    expect(answer.status).toBe(status);
    expect(await everything()).toEqual(before);
  });
});

test('every JSON body is answered with a problem or a success, never with a defect', async () => {
  const member = fc.constantFrom(
    'type',
    'name',
    'url',
    'provider_type',
    'webhook',
    'headers',
    'monitor_ids',
    'slug',
    '__proto__',
  );
  const body = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(member, fc.oneof(fc.jsonValue(), fc.constantFrom('http', 'webhook', '1m', '********'))),
  );
  const target = fc.constantFrom(
    ['POST', '/v1/monitors'],
    ['PUT', '/v1/monitors/MONITOR'],
    ['POST', '/v1/notifications'],
    ['PUT', '/v1/notifications/NOTIFICATION'],
    ['POST', '/v1/status-pages'],
    ['POST', '/v1/status-pages/PAGE/components'],
    ['PATCH', '/v1/status-pages/PAGE/appearance'],
    ['POST', '/v1/tokens'],
  );
  await fc.assert(
    fc.asyncProperty(target, body, async ([method = '', path = ''], json) => {
      const answer = await api.call(method, filled(path), JSON.stringify(json), {
        'content-type': 'application/json',
      });
      expect(answer.status).toBeLessThan(500);
      if (answer.status >= 400) expect(answer.headers.get('content-type')).toBe('application/problem+json');
    }),
    { numRuns: 300 },
  );
});
