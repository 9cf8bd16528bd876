import { expect, test } from 'vitest';
import { parseDeclaration } from '../../../../../test/support/read-declaration.ts';
import { formatError } from './declaration.ts';

/**
 * Invalid files with all their errors. The table in `test/refusals/` has the invalid values of single
 * resources, for every way to declare them.
 */
type Row = [name: string, text: string, errors: string[]];

const MONITOR = 'url: "http://a.example", periodicity: 1m';

const ROWS: Row[] = [
  ['nothing', '', ['1:1: the file is empty: write {} to declare nothing']],
  ['comments only', '# later\n', ['1:1: the file is empty: write {} to declare nothing']],
  ['null', 'null\n', ['1:1: the file is empty: write {} to declare nothing']],
  ['a text', 'hello\n', ['1:1: the file must be a mapping of resource types, like svc_http_monitor']],
  [
    'a list',
    '\n- svc_http_monitor\n',
    ['2:1: the file must be a mapping of resource types, like svc_http_monitor'],
  ],
  [
    'an open bracket',
    'svc_http_monitor: {\n',
    ['2:1: invalid YAML: a bracket has no end, or its end is indented too little'],
  ],
  [
    'a wrong indent',
    'svc_http_monitor:\n  api:\n    name: a\n   url: b\n',
    [
      '4:1: invalid YAML: the indentation does not fit: the entries of a mapping or list begin in the same column, and what belongs to a key is indented more',
    ],
  ],
  [
    'a tab as indent',
    'svc_http_monitor:\n\tapi: {}\n',
    ['2:1: invalid YAML: tabs cannot indent: use blanks'],
  ],
  ['a quote without end', 'svc_http_monitor: "a\n', ['2:1: invalid YAML: a quote has no end']],
  [
    'two documents',
    '{}\n---\n{}\n',
    ['2:1: invalid YAML: a second document begins here: remove the line ---'],
  ],
  [
    'a tag',
    'svc_http_monitor: !secret a\n',
    ['1:19: invalid YAML: the tag is unknown, or does not fit its value: remove it'],
  ],
  [
    'a second colon in a line',
    'svc_http_monitor: api: {}\n',
    [
      '1:19: invalid YAML: a mapping begins within a line: put the text in quotes, or begin the mapping in the next line',
    ],
  ],
  [
    'an escape that YAML does not know',
    'svc_http_monitor: "\\d"\n',
    [
      '1:20: invalid YAML: unknown escape after a backslash in double quotes: write \\\\, or use single quotes',
    ],
  ],
  [
    'a text that begins with @',
    'svc_http_monitor: @a\n',
    ['1:19: invalid YAML: a text cannot begin with this character: put it in quotes'],
  ],
  ['a comment without a blank', 'svc_http_monitor: "a"#b\n', ['1:22: invalid YAML: a blank is missing']],
  [
    'a mapping in the line of ---',
    '--- a: b\n',
    ['1:5: invalid YAML: the line of --- cannot begin a mapping or list'],
  ],
  [
    'a list in the line of its anchor',
    '&a - b\n',
    [
      '1:1: invalid YAML: a line break is missing after an anchor or a tag',
      '1:6: invalid YAML: this does not belong here: remove it, or put the text in quotes',
    ],
  ],
  [
    'a key without a colon',
    'svc_http_monitor: {}\nb\n',
    ['2:1: invalid YAML: a key needs a colon and a value'],
  ],
  ['an alias without anchor', 'svc_http_monitor: *a\n', ['1:19: the alias *a has no anchor &a before it']],
  [
    'an unknown resource type',
    'svc_http_montor: {}\n',
    ['1:1: "svc_http_montor" is not a resource type: did you mean "svc_http_monitor"?'],
  ],
  [
    'something else altogether',
    'services: {}\n',
    [
      '1:1: "services" is not a resource type: there are svc_http_monitor, svc_tcp_monitor, svc_dns_monitor, svc_notification, svc_status_page, svc_status_page_component_group, svc_status_page_component',
    ],
  ],
  [
    'a list of monitors',
    'svc_http_monitor:\n  - name: a\n',
    ['2:3: svc_http_monitor must be a mapping of names, each with its attributes'],
  ],
  [
    'a name that is a number',
    'svc_tcp_monitor:\n  1: {}\n',
    ['2:3: a key must be a string: put it in quotes'],
  ],
  [
    'a name with a blank',
    'svc_tcp_monitor:\n  a b: {}\n',
    [
      '2:3: "a b" is not a name: use up to 128 letters, digits, underscores and hyphens, with a letter or underscore first',
    ],
  ],
  [
    'an entry that is a text',
    'svc_tcp_monitor:\n  a: hello\n',
    ['2:6: svc_tcp_monitor.a: must be a mapping, not a string'],
  ],
  [
    'an entry without anything',
    'svc_tcp_monitor:\n  a:\n',
    [
      '2:3: svc_tcp_monitor.a.name: is required',
      '2:3: svc_tcp_monitor.a.uri: is required',
      '2:3: svc_tcp_monitor.a.periodicity: is required',
    ],
  ],
  [
    'a resource type twice',
    'svc_tcp_monitor: {}\nsvc_dns_monitor: {}\nsvc_tcp_monitor: {}\n',
    ['3:1: "svc_tcp_monitor" is given twice: it is already in line 1'],
  ],
  [
    'a name twice',
    `svc_http_monitor:\n  a: { name: a, ${MONITOR} }\n  a: { name: b, ${MONITOR} }\n`,
    ['3:3: "a" is given twice: it is already in line 2'],
  ],
  [
    'an attribute twice',
    `svc_http_monitor:\n  a: { name: a, name: b, ${MONITOR} }\n`,
    ['2:17: "name" is given twice: it is already in line 2'],
  ],
  [
    'bad values in several places',
    [
      'svc_http_monitor:',
      '  api:',
      '    name: API',
      '    url: example.com',
      '    periodicity: 2m',
      '    active: yes',
      '    status_code_assertions:',
      '      - { target: 20, comparator: eq }',
      '      - { target: 200, comparator: equals }',
      'svc_dns_monitor:',
      '  zone: { name: Zone, uri: "https://a.example", periodicity: 1m, retry: 11 }',
    ].join('\n'),
    [
      '4:10: svc_http_monitor.api.url: must be a URL that starts with https:// or http://',
      '5:18: svc_http_monitor.api.periodicity: "2m" is not one of 30s, 1m, 5m, 10m, 30m, 1h',
      '6:13: svc_http_monitor.api.active: must be a boolean, not a string',
      '8:19: svc_http_monitor.api.status_code_assertions.0.target: is 20, but must be from 100 to 599',
      '9:36: svc_http_monitor.api.status_code_assertions.1.comparator: "equals" is not one of eq, neq, gt, gte, lt, lte',
      '11:28: svc_dns_monitor.zone.uri: must be a domain name without a scheme, like example.com',
      '11:73: svc_dns_monitor.zone.retry: is 11, but must be from 0 to 10',
    ],
  ],
  [
    'a slug twice',
    'svc_status_page:\n  a: { title: a, slug: a }\n  b: { title: a, slug: a }\n',
    ['3:24: svc_status_page.b.slug: is taken by svc_status_page.a'],
  ],
  [
    'a dangling reference',
    `svc_http_monitor:\n  api: { name: a, ${MONITOR} }\nsvc_notification:\n  a: { provider_type: email, email: { email: a@a.example }, monitor_ids: ["\${svc_http_monitor.apo.id}"] }\n`,
    [
      '4:75: svc_notification.a.monitor_ids.0: svc_http_monitor.apo is not declared: did you mean svc_http_monitor.api?',
    ],
  ],
  [
    'a reference to another kind',
    `svc_status_page:\n  a: { title: a, slug: a }\nsvc_notification:\n  a: { provider_type: email, email: { email: a@a.example }, monitor_ids: ["\${svc_status_page.a.id}"] }\n`,
    [
      '4:75: svc_notification.a.monitor_ids.0: takes the id of a svc_http_monitor, svc_tcp_monitor, svc_dns_monitor, not of a svc_status_page',
    ],
  ],
  [
    'a reference to an unknown kind',
    `svc_status_page_component_group:\n  a: { name: a, page_id: "\${svc_status_pag.a.id}" }\n`,
    [
      '2:26: svc_status_page_component_group.a.page_id: "svc_status_pag" is not a resource type: did you mean "svc_status_page"?',
    ],
  ],
  [
    'a reference without .id',
    `svc_status_page:\n  a: { title: a, slug: a }\nsvc_status_page_component_group:\n  a: { name: a, page_id: "\${svc_status_page.a}" }\n`,
    [
      `4:26: svc_status_page_component_group.a: "\${svc_status_page.a}" is not a reference: write it like "\${svc_http_monitor.api.id}"`,
    ],
  ],
  [
    'a reference where none may stand',
    `svc_http_monitor:\n  a: { name: "\${svc_http_monitor.a.id}", ${MONITOR} }\n`,
    ['2:14: svc_http_monitor.a: must not be a reference: no attribute of this resource takes an id'],
  ],
  [
    'a reference where another attribute takes one',
    `svc_status_page:\n  a: { title: a, slug: a }\nsvc_status_page_component_group:\n  a: { name: "\${svc_status_page.a.id}", page_id: "\${svc_status_page.a.id}" }\n`,
    [
      '4:14: svc_status_page_component_group.a: must not be a reference: only these attributes take an id: page_id',
    ],
  ],
  [
    'a reference that an alias repeats where none may stand',
    `svc_status_page: { p: { title: p, slug: p } }\nsvc_status_page_component_group:\n  a: { page_id: &p "\${svc_status_page.p.id}", name: *p }\n`,
    [
      '3:20: svc_status_page_component_group.a: must not be a reference: only these attributes take an id: page_id',
    ],
  ],
  [
    'a reference inside a text',
    `svc_status_page:\n  a: { title: "no \${svc_status_page.a.id}", slug: a }\n`,
    [
      `2:15: svc_status_page.a: the reference "\${svc_status_page.a.id}" must be the whole string, without other text around it`,
    ],
  ],
  [
    'a group of another page',
    [
      'svc_status_page: { a: { title: a, slug: a }, b: { title: b, slug: b } }',
      `svc_status_page_component_group: { g: { name: g, page_id: "\${svc_status_page.a.id}" } }`,
      'svc_status_page_component:',
      `  c: { type: static, page_id: "\${svc_status_page.b.id}", group_id: "\${svc_status_page_component_group.g.id}" }`,
    ].join('\n'),
    ['4:68: svc_status_page_component.c.group_id: is a group of another page'],
  ],
  [
    'an environment variable that is not set, beside another error',
    `svc_status_page:\n  a: { title: "\${env.TITLE}", slug: "A B" }\n`,
    [
      '2:15: svc_status_page.a: the environment variable TITLE is not set',
      '2:37: svc_status_page.a.slug: must consist of the letters a to z, digits, and hyphens between them',
    ],
  ],
  [
    'a file that is not there',
    `svc_status_page:\n  a: { title: a, slug: a, access_type: password, password: "\${file.secrets/none}" }\n`,
    ['2:60: svc_status_page.a: cannot read secrets/none: the file does not exist'],
  ],
  [
    'an unknown insertion',
    `svc_status_page:\n  a: { title: "\${vault.a}", slug: a }\n`,
    [
      `2:15: svc_status_page.a: "\${vault.a}" is unknown: use \${env.NAME}, \${file.PATH} or \${svc_http_monitor.name.id}, or write "$\${" for a literal "\${"`,
    ],
  ],
  [
    'an insertion without end',
    `svc_status_page:\n  a: { title: "\${env.A", slug: a }\n`,
    [`2:15: svc_status_page.a: "\${" has no closing "}": add it, or write "$\${" for a literal "\${"`],
  ],
  [
    'an alias that contains itself',
    'svc_http_monitor:\n  a: &a\n    headers:\n      - *a\n',
    ['4:9: the alias *a contains itself'],
  ],
  [
    'a merge of what is no mapping',
    'svc_http_monitor:\n  a: { <<: [1] }\n',
    ['2:8: "<<" needs an alias of a mapping, or a list of such aliases'],
  ],
  [
    'an escaped reference is no name',
    `svc_tcp_monitor:\n  "$\${a}": {}\n`,
    [
      `2:3: "$\${a}" is not a name: use up to 128 letters, digits, underscores and hyphens, with a letter or underscore first`,
    ],
  ],
  [
    'a number that is none',
    'svc_tcp_monitor:\n  a: { name: a, uri: "a:1", periodicity: 1m, timeout: .nan }\n',
    ['2:55: svc_tcp_monitor.a.timeout: must be a finite number'],
  ],
  [
    'JSON with an error',
    '{\n  "svc_tcp_monitor": {\n    "a": { "name": "a", "uri": "a", "periodicity": "1m" }\n  }\n}\n',
    ['3:32: svc_tcp_monitor.a.uri: must be host:port, like example.com:443'],
  ],
];

const sources = {
  env: {},
  readFile: (path: string) => {
    throw new Error(`cannot read ${path}: the file does not exist`);
  },
};

test.each(ROWS)('%s', (_name, text, errors) => {
  const parsed = parseDeclaration(text, 'svc.yaml', sources);
  expect(parsed.errors.map(formatError)).toEqual(errors.map((error) => `svc.yaml:${error}`));
});

test('aliases that grow exponentially are stopped', () => {
  const levels = Array.from({ length: 30 }, (_, level) =>
    level === 0 ? 'l0: &l0 { key: a, value: b }' : `l${level}: &l${level} [*l${level - 1}, *l${level - 1}]`,
  );
  const text = `svc_http_monitor:\n  a:\n    ${levels.join('\n    ')}\n`;
  const { errors } = parseDeclaration(text, 'svc.yaml', sources);
  expect(errors[0]?.message).toBe('aliases add more than 500000 values: write them out');
});

test('a hundred nested brackets do no harm', () => {
  const text = `svc_http_monitor:\n  a: ${'['.repeat(100)}${']'.repeat(100)}\n`;
  const { errors } = parseDeclaration(text, 'svc.yaml', sources);
  expect(errors[0]?.message).toBe('nested more than 32 levels deep');
});

test('a hundred thousand nested brackets do no harm', () => {
  const { errors } = parseDeclaration('['.repeat(100_000), 'svc.yaml', sources);
  expect(errors.length).toBeGreaterThan(0);
});
