// biome-ignore-all lint/suspicious/noTemplateCurlyInString: insertions of the declared file
import { deepEqual, equal } from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { interpolate } from '@svc/coordinator/declaration/yaml/interpolate.ts';
import { piecesOf, wholePiece } from '@svc/coordinator/declaration/yaml/pieces.ts';
import { parse, stringify } from 'yaml';
import { DECLARED_SAMPLE } from '../../support/declared-sample.ts';
import { parseDeclaration } from '../../support/read-declaration.ts';
import { VALID } from '../../support/resources.ts';
import { mutatedValue } from '../json-mutations.ts';
import { type FuzzTarget, json, latin1, never } from '../target.ts';

const ENV: Readonly<Record<string, string>> = {
  NAME: 'a name',
  EMPTY: '',
  ODD: `"\${env.NAME}" $& $1 \\ \n - x: {`,
};

const SOURCES = {
  env: ENV,
  readFile(path: string): string {
    if (path.includes('missing')) throw new Error(`${path} is not there`);
    return `content of ${path}\n`;
  },
};

const SMALL = {
  svc_tcp_monitor: { a: VALID.svc_tcp_monitor },
  svc_status_page: { p: VALID.svc_status_page },
};

const INSERTIONS = [
  '${env.NAME}',
  '${env.ODD}',
  '${env.NONE}',
  '${file.token}',
  '${file.missing}',
  '$${',
  '${',
  '}',
  '$',
  '${}',
  '${env.',
  '${svc_tcp_monitor.a.id}',
  '${svc_http_monitor.another-1.id}',
  '${svc_tcp_monitor.a.id} ',
  '${env.__proto__}',
];

export const DECLARED_FILE: FuzzTarget = {
  name: 'declared-file',
  corpus: [
    readFileSync(new URL('../../../deploy/local/svc.yaml', import.meta.url)),
    Buffer.from(stringify(DECLARED_SAMPLE)),
    Buffer.from(stringify(DECLARED_SAMPLE, { indent: 4 }).replaceAll('\n', '\r\n')),
    Buffer.from(JSON.stringify(DECLARED_SAMPLE, null, 1)),
    Buffer.from(stringify(SMALL)),
    json(SMALL),
    Buffer.from(
      'svc_tcp_monitor:\n  a: &a\n    name: a\n    uri: a:1\n    periodicity: 1m\n  b:\n    <<: *a\n    name: b\n',
    ),
  ],
  words: [
    'svc_http_monitor:\n',
    'svc_tcp_monitor:\n',
    '  a:\n',
    '    name: x\n',
    '&a ',
    '*a',
    '<<: ',
    '!!set ',
    '!!binary ',
    '- ',
    '? ',
    '|\n',
    '>-\n',
    "'",
    '"',
    '# c\n',
    '---\n',
    '...\n',
    '%YAML 1.1\n',
    '{',
    '}',
    '[',
    ']',
    '\t',
    '__proto__: 1\n',
    '0o7',
    '"__proto__":1,',
    '"\\u0061":1,',
    '\u2028',
    '\ufeff',
    'null',
    'true',
    'yes',
    '1_000',
    '0x1f',
    '.inf',
    '2020-01-01',
    '~',
    ...INSERTIONS,
  ],
  mutate(input, random) {
    const value = asYaml(input.toString());
    if (typeof value !== 'object' || value === null) return input;
    const other = mutatedValue(value, random);
    return random.chance(0.5)
      ? json(other)
      : Buffer.from(stringify(other, { aliasDuplicateObjects: random.chance(0.5) }));
  },
  parse: (input) => parseDeclaration(input.toString(), 'svc.yaml', SOURCES),
  isRefusal: never,
  mostMs: 1_000,
  mostBytes: 16 * 1_024,
  check(input) {
    const text = input.toString();
    const whole = parseDeclaration(text, 'svc.yaml', SOURCES, [wholePiece(text)]);
    const cut = parseDeclaration(text, 'svc.yaml', SOURCES, piecesOf(text, 1));
    // Wrong syntax has further consequences, and the whole file shows more of them.
    if (whole.errors.some(({ message }) => message.startsWith('invalid YAML')))
      deepEqual(cut.errors[0], whole.errors[0], 'the first error in pieces');
    else if (whole.errors.length > 0) deepEqual(cut.errors, whole.errors, 'the errors in pieces');
    else deepEqual(cut, whole, 'what pieces declare');
    const lines = text.split(/\r\n|\r|\n/).length;
    for (const { line, column } of whole.errors) {
      equal(line >= 1 && line <= lines + 1 && column >= 1, true, `an error at ${line}:${column}`);
    }
  },
};

/** The file as plain data; undefined: it is not YAML any more, or a value contains itself. */
function asYaml(text: string): unknown {
  try {
    return JSON.parse(JSON.stringify(parse(text, { maxAliasCount: 100, logLevel: 'silent' })));
  } catch {
    return undefined;
  }
}

export const INSERTION: FuzzTarget = {
  name: 'insertion',
  corpus: [...INSERTIONS, 'a ${env.NAME} b $${env.NAME} ${file.a} $$${env.NAME} ${svc_x}'].map(latin1),
  words: [...INSERTIONS, 'env.', 'file.', 'svc_', '.id'],
  parse: (input) => interpolate(input.toString(), SOURCES),
  isRefusal: never,
  check(input) {
    const text = input.toString();
    const read = interpolate(text, SOURCES);
    if (/^\$\{svc_[^}]*\}$/.test(text)) return;
    const expected = insertedByHand(text);
    equal(read.ok ? read.text : null, expected, 'what is inserted, read character by character');
  },
};

/** Null: something in it cannot be inserted. */
function insertedByHand(text: string): string | null {
  let out = '';
  for (let at = 0; at < text.length; ) {
    if (text.startsWith('$${', at)) {
      out += '${';
      at += 3;
    } else if (text.startsWith('${', at)) {
      const end = text.indexOf('}', at);
      const inserted = end === -1 ? null : source(text.slice(at + 2, end));
      if (inserted === null) return null;
      out += inserted;
      at = end + 1;
    } else {
      out += text[at];
      at += 1;
    }
  }
  return out;
}

function source(inner: string): string | null {
  if (inner.startsWith('env.')) {
    const name = inner.slice(4);
    return Object.hasOwn(ENV, name) ? (ENV[name] as string) : null;
  }
  if (!inner.startsWith('file.') || inner.includes('missing')) return null;
  return SOURCES.readFile(inner.slice(5)).replace(/\r?\n$/, '');
}
