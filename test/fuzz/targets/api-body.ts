import { deepEqual, equal } from 'node:assert/strict';
import { Problem } from '@svc/coordinator/api/problem.ts';
import { parsedJson } from '@svc/coordinator/api/request-input.ts';
import { parseResource, RESOURCE_KINDS } from '@svc/shared/resources/registry.ts';
import { isWithinOutline } from '@svc/shared/text/json-outline.ts';
import { VALID } from '../../support/resources.ts';
import { mutatedJson } from '../json-mutations.ts';
import { type FuzzTarget, json } from '../target.ts';

export const API_BODY: FuzzTarget = {
  name: 'api-body',
  corpus: [
    ...Object.values(VALID).map(json),
    json({
      ...VALID.svc_http_monitor,
      regions: ['hosta-fra', 'hostb-par'],
      headers: [{ key: 'A', value: 'b' }],
      status_code_assertions: [{ target: 200, comparator: 'eq' }],
      body_assertions: [{ target: 'ok', comparator: 'contains' }],
    }),
    json({
      provider_type: 'webhook',
      webhook: { endpoint: 'https://a.example', headers: [{ key: 'A', value: 'b' }] },
    }),
    json({
      ...VALID.svc_dns_monitor,
      record_assertions: [{ record: 'MX', target: '10 mx.a', comparator: 'eq' }],
    }),
    json({ ...VALID.svc_tcp_monitor, otlp_endpoint: 'https://a.example', otlp_headers: { a: 'b' } }),
  ],
  words: [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '\\"',
    '"a":1,',
    '"__proto__":1,',
    '"\\u005f_proto__":1',
    '"\\u0061":1,',
    'null',
    'true',
    '1e999',
    '[[[[[[[[',
    '{"a":',
    ' ',
    '\n',
    'periodicity',
    '"url":"http://[::1]:99999"',
    '\u2028',
  ],
  mutate: mutatedJson,
  parse(input) {
    const value = parsedJson(input);
    return RESOURCE_KINDS.map((kind) => parseResource(kind, value, 'api'));
  },
  isRefusal: (error) => error instanceof Problem,
  check(input) {
    const value = parsedOr(input);
    if (value === undefined) return;
    const most = outlineOf(input.toString());
    equal(isWithinOutline(input, most), true, 'its own outline');
    for (const part of ['lists', 'objects', 'texts', 'commas'] as const) {
      const less = { ...most, [part]: most[part] - 1 };
      equal(isWithinOutline(input, less), false, `an outline with fewer ${part}`);
    }
    for (const kind of RESOURCE_KINDS) {
      const resource: ReturnType<typeof parseResource> = parseResource(kind, value, 'api');
      if (!resource.ok) continue;
      // As JSON carries it: 0 for -0.
      const sent: unknown = JSON.parse(JSON.stringify(resource.value));
      const again: ReturnType<typeof parseResource> = parseResource(kind, sent, 'api');
      if (again.ok) deepEqual(JSON.parse(JSON.stringify(again.value)), sent, `a ${kind} that is read again`);
    }
  },
};

/** The value of a body; undefined: it is refused. */
function parsedOr(input: Buffer): unknown {
  try {
    return parsedJson(input);
  } catch {
    return undefined;
  }
}

/** The parts of a JSON text, by its tokens. */
function outlineOf(text: string): { lists: number; objects: number; texts: number; commas: number } {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{[,]/gs) ?? [];
  const count = (start: string) => tokens.filter((token) => token.startsWith(start)).length;
  return { lists: count('['), objects: count('{'), texts: count('"'), commas: count(',') };
}
