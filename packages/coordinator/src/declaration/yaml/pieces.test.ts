import fc from 'fast-check';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { DECLARED_SAMPLE } from '../../../../../test/support/declared-sample.ts';
import { parseDeclaration } from '../../../../../test/support/read-declaration.ts';
import { piecesOf, wholePiece } from './pieces.ts';

const sources = { env: { NAME: 'a name' }, readFile: (path: string) => `content of ${path}\n` };

/**
 * Checks that the text declares the same resources when it is read in pieces of one entry, in pieces
 * of a hundred entries, and as a whole. Returns whether there are several pieces of one entry.
 */
function isCut(text: string): boolean {
  const whole = parseDeclaration(text, 'svc.yaml', sources, [wholePiece(text)]);
  const small = piecesOf(text, 1);
  for (const pieces of [small, piecesOf(text)]) {
    const { entries, errors } = parseDeclaration(text, 'svc.yaml', sources, pieces);
    // Wrong syntax causes further errors, and reading the text as a
    // whole finds more of them. So only the first error is compared.
    const isWrong = whole.errors.some(({ message }) => message.startsWith('invalid YAML'));
    expect(isWrong ? errors[0] : errors).toEqual(isWrong ? whole.errors[0] : whole.errors);
    if (errors.length === 0) expect(entries).toEqual(whole.entries);
  }
  return small.length > 1;
}

test.each([undefined, 1, '\t'])('JSON is cut between entries (indent %j)', (indent) => {
  expect(isCut(JSON.stringify(DECLARED_SAMPLE, null, indent))).toBe(true);
});

test('lines that end with CR LF count once', () => {
  expect(isCut(JSON.stringify(DECLARED_SAMPLE, null, 1).replaceAll('\n', '\r\n'))).toBe(true);
});

test.each([2, 4])('YAML in block style is cut, indented by %i', (indent) => {
  expect(isCut(stringify(DECLARED_SAMPLE, { indent, aliasDuplicateObjects: false }))).toBe(true);
});

const MANY = Object.fromEntries(
  Array.from({ length: 250 }, (_, index) => [
    `m${index}`,
    { name: `m${index}`, uri: 'a:1', periodicity: '1m' },
  ]),
);

test('YAML with comments, empty lines and an empty section is cut', () => {
  const text = `${stringify({ svc_tcp_monitor: MANY })}svc_http_monitor:\n`.replaceAll(
    /^ {2}m\d*7:/gm,
    '# between entries\n\n    # indented\n$&',
  );
  expect(isCut(`# a head\n${text.replaceAll('\n', '\r\n')}`)).toBe(true);
  expect(isCut(text)).toBe(true);
});

test('scalars of several lines do not end a piece', () => {
  const text = stringify({
    svc_http_monitor: {
      a: {
        name: 'a',
        url: 'http://a',
        method: 'POST',
        periodicity: '1m',
        body: 'svc_tcp_monitor:\n  b: {}\n# c\n\nd\n',
      },
    },
    svc_tcp_monitor: MANY,
  });
  expect(text).toContain('body: |');
  expect(isCut(text)).toBe(true);
});

test.each(['|', '|+', '>-', '|2'])(
  'a text in block style (%s) at the end of a piece, or of the file, keeps its line ends',
  (style) => {
    const bodies = Array.from(
      { length: 101 },
      (_, index) =>
        `  m${index}:\n    name: a\n    url: http://a\n    method: POST\n    periodicity: 1m\n    body: ${style}\n      b\n\n`,
    );
    const text = `svc_http_monitor:\n${bodies.join('')}`;
    for (const ended of [text, text.trimEnd(), `${text}\n`]) expect(isCut(ended)).toBe(true);
  },
);

test('a text with aliases is one piece', () => {
  const lines = Object.keys(MANY).map((name) => `  ${name}: { <<: *base, name: ${name} }\n`);
  const text = `svc_tcp_monitor:\n  a: &base { name: a, uri: "a:1", periodicity: 1m }\n${lines.join('')}`;
  expect(isCut(text)).toBe(false);
  expect(parseDeclaration(text, 'svc.yaml', sources).entries).toHaveLength(251);
});

/** Values of the last attribute of an entry. Most of them span several lines. */
const BODIES = [
  '|\n      x\n      y\n',
  '|+\n      x\n\n\n',
  '>-\n      x\n\n      y\n',
  '|-\n      # no comment\n      m: 1\n',
  '"a\n      b"\n',
  'plain\n      more\n',
  '&k z\n',
  '*k\n',
];
/** Lines between entries that belong to no entry, or to an unexpected one. */
const BETWEEN = [
  '\n',
  '# c\n',
  '  # c\n',
  '      # c\n',
  '   \n',
  '\t\n',
  '  ? q\n',
  '  - a\n',
  '   x\n',
  '      z\n',
  '  "\n',
];

test('pieces declare what the whole declares, whatever the text at the cut', () => {
  const entry = fc.record({
    before: fc.constantFrom('', '', ...BETWEEN),
    body: fc.constantFrom('x\n', 'x\n', ...BODIES),
    after: fc.constantFrom('', '', '', ...BETWEEN),
  });
  const whole = Array.from(
    { length: 3 },
    (_, i) => `  a${i}: { name: a, url: "http://a", periodicity: 1m }\n`,
  );
  fc.assert(
    fc.property(fc.array(entry, { minLength: 2, maxLength: 6 }), fc.boolean(), (entries, isCrlf) => {
      const last = entries.map(
        ({ before, body, after }, i) =>
          `${before}  b${i}:\n    name: b\n    url: http://b\n    method: POST\n    periodicity: 1m\n    body: ${body}${after}`,
      );
      const text = `svc_http_monitor:\n${whole.join('')}${last.join('')}`;
      isCut(isCrlf ? text.replaceAll('\n', '\r\n') : text);
    }),
    { numRuns: 100 },
  );
});

const ENTRY = '{"name":"a","uri":"a:1","periodicity":"1m"}';

test.each([
  ['in the flow style of YAML', 'svc_tcp_monitor: {}'],
  ['with a kind twice in YAML', 'svc_tcp_monitor:\nsvc_tcp_monitor:\n'],
  ['with a name twice in YAML', 'svc_status_page:\n  a: { title: a, slug: a }\n  a: { title: a, slug: b }\n'],
  ['with a blank that is none in YAML', '\u00a0\nsvc_status_page:\n  a: { title: a, slug: a }\n'],
  ['with tabs', 'svc_status_page:\n\ta: { title: a, slug: a }\n'],
  ['indented less', 'svc_status_page:\n    a: { title: a, slug: a }\n  b: { title: a, slug: b }\n'],
  ['of two documents', 'svc_status_page:\n  a: { title: a, slug: a }\n---\n'],
  ['that is not JSON to the end', '{"svc_tcp_monitor": {}'],
  ['that is a list', '[]'],
  ['without anything', ''],
  ['of comments only', '# nothing\n'],
  ['with an unknown kind', '{"svc_tcp_monitors": {}}'],
  ['with a list for a kind', '{"svc_tcp_monitor": []}'],
  ['with a text for an entry', '{"svc_tcp_monitor": {"a": "b"}}'],
  ['with a kind twice', `{"svc_tcp_monitor": {"a": ${ENTRY}}, "svc_tcp_monitor": {}}`],
  ['with a name twice', `{"svc_tcp_monitor": {"a": ${ENTRY}, "a": ${ENTRY}}}`],
  [
    'with an attribute twice',
    '{"svc_tcp_monitor": {"a": {"name":"a","name":"b","uri":"a:1","periodicity":"1m"}}}',
  ],
  ['with a bad name', `{"svc_tcp_monitor": {"a b": ${ENTRY}}}`],
  ['with a merge', `{"svc_tcp_monitor": {"a": {"<<": ${ENTRY}}}}`],
  ['with __proto__', `{"svc_tcp_monitor": {"a": {"__proto__": ${ENTRY}}}}`],
  ['with lines that end with CR', `{"svc_tcp_monitor": {\r"a": ${ENTRY}\r}}`],
  ['with entries that are merged in', `svc_tcp_monitor:\n  a: ${ENTRY}\n  <<: { b: ${ENTRY} }\n`],
  ['with an escaped key', `{"svc_tcp_monitor": {"\\u0061": ${ENTRY}}}`],
  ['with a bad value', '{"svc_tcp_monitor": {"a": {"name":"a","uri":"a","periodicity":"1m"}}}'],
  [
    'with a variable that is not set',
    `{"svc_tcp_monitor": {"a": {"name":"\${env.X}","uri":"a:1","periodicity":"1m"}}}`,
  ],
  [
    'with a reference to nothing',
    `{"svc_status_page_component": {"a": {"type":"static","name":"a","page_id":"\${svc_status_page.p.id}"}}}`,
  ],
  [
    'with a reference out of place',
    `{"svc_tcp_monitor": {"a": ${ENTRY}, "b": {"name":"\${svc_tcp_monitor.a.id}","uri":"a:1","periodicity":"1m"}}}`,
  ],
  [
    'with a reference out of place, and one that is inserted',
    `{"svc_tcp_monitor": {"a": ${ENTRY}}, "svc_notification": {"n": {"name":"\${svc_tcp_monitor.a.id}","provider_type":"webhook","webhook":{"endpoint":"https://a.example"},"monitor_ids":["$\${svc_tcp_monitor.a.id}"]}}}`,
  ],
  [
    'with two pages of one slug',
    '{"svc_status_page": {"a": {"title":"a","slug":"a"}, "b": {"title":"b","slug":"a"}}}',
  ],
  ['nested too deep', `{"svc_tcp_monitor": {"a": ${'['.repeat(40)}${']'.repeat(40)}}}`],
  ['with null for a kind', '{"svc_http_monitor": null, "svc_tcp_monitor": {}}'],
  ['with a bracket too many', `{"svc_tcp_monitor": {"a": ${ENTRY} ], "b": ${ENTRY}}}`],
  ['with a comma too many', `{"svc_tcp_monitor": {"a": ${ENTRY},, "b": ${ENTRY}}}`],
  ['without a comma between kinds', `{"svc_tcp_monitor": {"a": ${ENTRY}} "svc_http_monitor": {}}`],
  ['with two commas between kinds', `{"svc_tcp_monitor": {"a": ${ENTRY}},, "svc_http_monitor": {}}`],
  ['with a comma before the kinds', `{, "svc_tcp_monitor": {"a": ${ENTRY}}}`],
  ['with a comma after the kinds', `{"svc_tcp_monitor": {"a": ${ENTRY}, }, }`],
  ['without a colon after a kind', `{"svc_tcp_monitor" {"a": ${ENTRY}}}`],
  ['with two colons after a kind', `{"svc_tcp_monitor":: {"a": ${ENTRY}}}`],
  ['with something after the last bracket', `{"svc_tcp_monitor": {"a": ${ENTRY}}} x`],
  [
    'with a quote that has no end',
    'svc_status_page:\n  a:\n    slug: a\n    title: "a\n  b: { title: b, slug: b }\n',
  ],
  ['with a comment that has brackets', `{svc_tcp_monitor: {a: ${ENTRY}, # }}\n b: ${ENTRY}}}`],
  ['with a comment that lacks a blank', `{#\n"svc_tcp_monitor": {"a": ${ENTRY}, "b": ${ENTRY}}}`],
  [
    'with an open quote before the next entry',
    'svc_status_page:\n  a:\n    slug: a\n    title: "a\n  b: {}\n',
  ],
  [
    'with an empty text before the next type',
    `svc_tcp_monitor:\n  a: ${ENTRY}\n  b:\n    name: >-\nsvc_dns_monitor:\n  c: ${ENTRY}\n  d: ${ENTRY}\n`,
  ],
])('pieces of a file %s declare what the whole declares', (_, text) => {
  isCut(text);
});

test.each([
  ['JSON', JSON.stringify(DECLARED_SAMPLE, null, 1)],
  ['YAML', stringify(DECLARED_SAMPLE, { aliasDuplicateObjects: false })],
])('pieces of %s with any part replaced by another text declare what the whole declares', (_, text) => {
  const position = fc.nat(text.length);
  const inserted = fc.oneof(
    fc.string({ maxLength: 4 }),
    fc.constantFrom(
      '{',
      '}',
      '[',
      ',',
      '"',
      "'",
      '\\',
      '"a": 1,',
      '"<<": {},',
      `\${`,
      ' ',
      '\n',
      '\n  ',
      '#',
      '|\n',
      '- ',
      '0',
    ),
  );
  fc.assert(
    fc.property(position, fc.nat(20), inserted, (start, length, put) => {
      isCut(text.slice(0, start) + put + text.slice(start + length));
    }),
    { numRuns: 150 },
  );
});

test.each([
  ['JSON', JSON.stringify({ svc_tcp_monitor: MANY })],
  ['YAML', stringify({ svc_tcp_monitor: MANY })],
])('a piece of %s also ends at the largest length', (_, text) => {
  const long = text.replaceAll('a:1', `${'a'.repeat(7_000)}:1`);
  const lengths = piecesOf(long).map(({ start, end }) => end - start);
  expect(lengths.length).toBeGreaterThan(20);
  expect(Math.max(...lengths)).toBeLessThan(65_536 + 8_000);
});

test('pieces of any sequence of tokens declare what the whole declares', () => {
  const plain = '{ name: a, uri: "a:1", periodicity: 1m }';
  const token = fc.constantFrom(
    ...['{', '}', '[', ']', ',', ':', '\n', '\n  ', '\n    ', 'a', 'b: ', '"a"', '- ', '? ', '|\n      x\n'],
    ...['svc_tcp_monitor', 'svc_tcp_monitor:\n  ', 'svc_status_page: ', plain, `${plain},`, `${plain}\n  `],
    ...['#c\n', "'", '"', '&x ', '!!map ', '---\n', '<<: ', '~', '\t', '\r\n', 'x-y: '],
  );
  const start = fc.constantFrom(
    '',
    `svc_tcp_monitor:\n  a: ${plain}\n  b: ${plain}\n`,
    `{svc_tcp_monitor: {a: ${plain}, b: ${plain}`,
    `{"svc_tcp_monitor": {"a": ${plain}}, `,
  );
  const end = fc.constantFrom('', '\n', '}', '}}', `\n  c: ${plain}\n`);
  fc.assert(
    fc.property(start, fc.array(token, { maxLength: 8 }), end, (before, tokens, after) => {
      isCut(`${before}${tokens.join('')}${after}`);
    }),
    { numRuns: 1_000 },
  );
});
