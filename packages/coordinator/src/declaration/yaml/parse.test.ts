import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { parseDeclaration } from '../../../../../test/support/read-declaration.ts';
import { VALID } from '../../../../../test/support/resources.ts';

const sources = {
  env: { HOOK: `https://hooks.example/\${not-looked-at}`, TITLE: 'Status' },
  readFile: (path: string) => `content of ${path}\n`,
};

function valid(text: string) {
  const { entries, errors } = parseDeclaration(text, 'svc.yaml', sources);
  expect(errors).toEqual([]);
  return entries;
}

test('{} declares nothing', () => {
  expect(valid('{}')).toEqual([]);
});

test('a resource type without entries declares nothing', () => {
  expect(valid('svc_http_monitor:\nsvc_status_page: {}\n')).toEqual([]);
});

test('entries are in order of dependency, and within a kind in the order of the file', () => {
  const text = [
    `svc_status_page_component: { c: { type: static, page_id: "\${svc_status_page.p.id}", group_id: "\${svc_status_page_component_group.g.id}" } }`,
    `svc_status_page_component_group: { g: { name: g, page_id: "\${svc_status_page.p.id}" } }`,
    `svc_notification: { n: { provider_type: email, email: { email: a@a.example }, monitor_ids: ["\${svc_dns_monitor.b.id}"] } }`,
    'svc_status_page: { p: { title: p, slug: p } }',
    'svc_dns_monitor: { b: { name: b, uri: a.example, periodicity: 1m }, a: { name: a, uri: a.example, periodicity: 1m } }',
  ].join('\n');
  expect(valid(text).map(({ kind, name }) => `${kind}.${name}`)).toEqual([
    'svc_dns_monitor.b',
    'svc_dns_monitor.a',
    'svc_notification.n',
    'svc_status_page.p',
    'svc_status_page_component_group.g',
    'svc_status_page_component.c',
  ]);
});

test('JSON declares the same as YAML', () => {
  const declared = Object.fromEntries(
    Object.entries(VALID)
      .filter(([kind]) => !kind.startsWith('svc_status_page_'))
      .map(([kind, resource]) => [kind, { a: resource }]),
  );
  const plain = (text: string) =>
    valid(text).map(({ kind, name, attributes }) => ({ kind, name, attributes }));
  expect(plain(JSON.stringify(declared, null, '\t'))).toEqual(plain(stringify(declared)));
  expect(plain(JSON.stringify(declared))).toHaveLength(Object.keys(declared).length);
});

test('variables and files are inserted, escapes are undone, and inserted text is not interpolated', () => {
  const [channel, page] = valid(
    [
      `svc_notification: { n: { provider_type: webhook, webhook: { endpoint: "https://a", headers: [{ key: A, value: "Bearer \${file.secrets/token}" }] }, name: "$\${env.TITLE}" } }`,
      `svc_status_page: { p: { title: "\${env.TITLE} $$ $1 \${env.TITLE}", slug: p, description: "\${env.HOOK}" } }`,
    ].join('\n'),
  );
  expect(channel?.attributes).toMatchObject({
    name: `\${env.TITLE}`,
    settings: { headers: [{ key: 'A', value: 'Bearer content of secrets/token' }] },
  });
  expect(page?.attributes).toMatchObject({
    title: 'Status $$ $1 Status',
    description: `https://hooks.example/\${not-looked-at}`,
  });
});

test('defaults can be shared with anchors and merged; own members win', () => {
  const entries = valid(
    [
      'svc_http_monitor:',
      '  a: &defaults { name: a, url: "http://a.example", periodicity: 1m, retry: 1 }',
      '  b:',
      '    name: b',
      '    <<: *defaults',
      '  c: { <<: [{ retry: 2 }, *defaults], name: c }',
      '  d: *defaults',
    ].join('\n'),
  );
  expect(entries.map(({ attributes }) => attributes)).toMatchObject([
    { name: 'a', retry: 1 },
    { name: 'b', retry: 1, url: 'http://a.example' },
    { name: 'c', retry: 2, url: 'http://a.example' },
    { name: 'a', retry: 1 },
  ]);
});

test('members whose name begins with x- are ignored, and may have anchors', () => {
  const entries = valid(
    [
      'x-web: &web { periodicity: 1m, active: true }',
      'x-notes: [any, thing]',
      'svc_http_monitor:',
      '  a: { <<: *web, name: a, url: "http://a.example" }',
    ].join('\n'),
  );
  expect(entries).toMatchObject([{ name: 'a', attributes: { periodicity: '1m', active: true } }]);
  expect(valid('{"x-a": {"b": 1}}')).toEqual([]);
});

test('null equals omitted', () => {
  const [entry] = valid(
    'svc_tcp_monitor: { a: { name: a, uri: "a:1", periodicity: 1m, retry: null, regions: ~ } }',
  );
  expect(entry?.attributes).toMatchObject({ retry: 3, regions: null });
});

test('the id of a resource that is not in the file may be a string of digits', () => {
  const [entry] = valid(
    'svc_notification: { n: { provider_type: sms, sms: { phone_number: "+4915112345678" }, monitor_ids: ["12"] } }',
  );
  expect(entry?.attributes).toMatchObject({ monitor_ids: ['12'] });
});

test('entries have their line and column', () => {
  const [entry] = valid('# comment\nsvc_tcp_monitor:\n  api: { name: a, uri: "a:1", periodicity: 1m }\n');
  expect(entry).toMatchObject({ line: 3, column: 3 });
});

test('the example of the documentation is valid', () => {
  const page = readFileSync(new URL('../../../../../docs/declared-file.md', import.meta.url), 'utf8');
  const example = /```yaml\n([\s\S]*?)```/.exec(page)?.[1] ?? '';
  const { entries, errors } = parseDeclaration(example, 'svc.yaml', { ...sources, env: { HOOK_TOKEN: 'a' } });
  expect(errors).toEqual([]);
  expect(entries).toHaveLength(2);
});
