import { deepEqual, equal } from 'node:assert/strict';
import { MOST_KEYS, MOST_LEVELS, MOST_VALUES } from '@svc/coordinator/api/json-scan.ts';
import { parsedJson } from '@svc/coordinator/api/parsed-json.ts';
import { isWithinOutline } from '@svc/shared/json-outline.ts';
import { parseResource, RESOURCE_KINDS } from '@svc/shared/resources/registry.ts';
import { VALID } from '../../support/resources.ts';
import { mutatedJson } from '../json-mutations.ts';
import { type FuzzTarget, json, never } from '../target.ts';

const isText = (value: unknown): value is string => typeof value === 'string';

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
    const read = parsedJson(input.toString());
    if ('malformed' in read) return read;
    return RESOURCE_KINDS.map((kind) => parseResource(kind, read.value, 'api'));
  },
  isRefusal: never,
  check(input) {
    const text = input.toString();
    const read = parsedJson(text);
    const outline = outlineOf(text);
    equal('malformed' in read, outline === null || outline.isRefused, 'whether the body is malformed');
    if (outline !== null) {
      const { lists, objects, texts, commas } = outline;
      const most = { lists, objects, texts, commas };
      equal(isWithinOutline(input, most), true, 'its own outline');
      for (const part of ['lists', 'objects', 'texts', 'commas'] as const) {
        const less = { ...most, [part]: most[part] - 1 };
        equal(isWithinOutline(input, less), false, `an outline with fewer ${part}`);
      }
    }
    if (!('value' in read)) return;
    for (const kind of RESOURCE_KINDS) {
      const resource: ReturnType<typeof parseResource> = parseResource(kind, read.value, 'api');
      if (!resource.ok) continue;
      // As JSON carries it: 0 for -0.
      const sent: unknown = JSON.parse(JSON.stringify(resource.value));
      const again: ReturnType<typeof parseResource> = parseResource(kind, sent, 'api');
      if (again.ok) deepEqual(JSON.parse(JSON.stringify(again.value)), sent, `a ${kind} that is read again`);
    }
  },
};

type TextOutline = { lists: number; objects: number; texts: number; commas: number; isRefused: boolean };

/** The parts of a JSON text, by its tokens in order; null: it is not JSON. */
function outlineOf(text: string): TextOutline | null {
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  const found: TextOutline = { lists: 0, objects: 0, texts: 0, commas: 0, isRefused: false };
  const open: (Set<string> | null)[] = [];
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[^\s"]/gs) ?? [];
  for (const [index, token] of tokens.entries()) {
    const within = open.at(-1);
    if (token.startsWith('"')) {
      found.texts += 1;
      if (tokens[index + 1] !== ':' || !within) continue;
      const key: unknown = JSON.parse(token);
      if (!isText(key) || key === '__proto__' || within.has(key) || within.size >= MOST_KEYS)
        found.isRefused = true;
      else within.add(key);
    } else if (token === '{' || token === '[') {
      if (token === '{') found.objects += 1;
      else found.lists += 1;
      open.push(token === '{' ? new Set() : null);
      if (open.length > MOST_LEVELS) found.isRefused = true;
    } else if (token === '}' || token === ']') open.pop();
    else if (token === ',') found.commas += 1;
  }
  if (found.commas > MOST_VALUES) found.isRefused = true;
  return found;
}
