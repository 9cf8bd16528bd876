import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HclExpression, hclFile, hclString } from './hcl.ts';

test('aligns neighbours, and lets values of several lines stand for themselves', () => {
  const file = hclFile([
    {
      type: 'resource',
      labels: ['svc_http_monitor', 'api'],
      attributes: {
        name: 'API',
        periodicity: '30s',
        regions: ['hosta-fra', 'hostb-par'],
        otlp_headers: { Authorization: 'Bearer a', 'X-A': 'b', null: 'c' },
        active: true,
        timeout: 0,
        ids: [new HclExpression('svc_http_monitor.a_name_that_is_long_enough.id'), 'x'.repeat(40)],
        empty: [],
      },
      blocks: [
        { type: 'headers', attributes: { key: 'A', value: new HclExpression('var.a') } },
        { type: 'headers', attributes: { key: 'B', value: 'b' } },
      ],
    },
    { type: 'provider', labels: ['svc'], attributes: {} },
  ]);
  expect(file).toBe(`resource "svc_http_monitor" "api" {
  name        = "API"
  periodicity = "30s"
  regions     = ["hosta-fra", "hostb-par"]
  otlp_headers = {
    Authorization = "Bearer a"
    X-A           = "b"
    "null"        = "c"
  }
  active  = true
  timeout = 0
  ids = [
    svc_http_monitor.a_name_that_is_long_enough.id,
    "${'x'.repeat(40)}",
  ]
  empty = []

  headers {
    key   = "A"
    value = var.a
  }

  headers {
    key   = "B"
    value = "b"
  }
}

provider "svc" {}
`);
});

test('objects in lists stand one per line', () => {
  const headers = [{ key: 'A', value: 'b' }];
  expect(hclFile([{ type: 'webhook', attributes: { endpoint: 'https://a', headers } }])).toBe(
    'webhook {\n  endpoint = "https://a"\n  headers = [\n    { key = "A", value = "b" },\n  ]\n}\n',
  );
});

test.each([
  ['a"b\\c', '"a\\"b\\\\c"'],
  ['one\r\n\ttwo', '"one\\r\\n\\ttwo"'],
  [`\${env.A} %{ if }`, `"$\${env.A} %%{ if }"`],
  [`$\${ %%{ $% $`, `"$$\${ %%%{ $% $"`],
  ['\u0007\u2028é', '"\\u0007\\u2028é"'],
])('writes %j as %s', (text, written) => {
  expect(hclString(text)).toBe(written);
});

test('no text ends its quotes, begins a template or takes a second line', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('$', '%', '{', '"', '\\', '\n', 'a', 'é') }), (text) => {
      const inside = hclString(text).slice(1, -1);
      expect(inside).not.toMatch(/\n/);
      expect(inside.replace(/\\./g, '')).not.toContain('"');
      // An odd number of `$` or `%` before a brace would begin a template.
      for (const [run] of inside.matchAll(/[$%]+(?=\{)/g)) {
        expect(run.endsWith('$$') || run.endsWith('%%')).toBe(true);
      }
    }),
  );
});
