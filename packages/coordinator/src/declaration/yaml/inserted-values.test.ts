import type { Attribute, Attributes } from '@svc/shared/resources/definition.ts';
import { DEFINITIONS, RESOURCE_KINDS, type ResourceKind } from '@svc/shared/resources/registry.ts';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyText } from '../../../../../test/support/any-text.ts';
import { parseDeclaration } from '../../../../../test/support/read-declaration.ts';
import { VALID } from '../../../../../test/support/resources.ts';

/** The value that is inserted. No error may show it, whatever is wrong with it. */
const HIDDEN = 'hunter2';
const INSERTED = `\${env.HIDDEN}`;

/** Returns the messages of all errors of a declaration that inserts this value. */
function errorsOf(declaration: string | object, value: string): string[] {
  const text = typeof declaration === 'string' ? declaration : JSON.stringify(declaration);
  const sources = { env: { HIDDEN: value }, readFile: () => value };
  return parseDeclaration(text, 'svc.yaml', sources).errors.map(({ message }) => message);
}

/** Makes a value of the attribute's type, with the insertion in every place that takes a string. */
function withInsertion({ value }: Attribute): unknown {
  switch (value.type) {
    case 'set':
    case 'list':
      return [INSERTED];
    case 'map':
      return { key: INSERTED };
    case 'objects':
      return [allInserted(value.attributes ?? {})];
    default:
      return INSERTED;
  }
}

function allInserted(attributes: Attributes): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, attribute]) => [name, withInsertion(attribute)]),
  );
}

/** Makes resources of this kind. In each, one attribute or block consists of insertions. */
function bodiesOf(kind: ResourceKind): object[] {
  const { attributes, blocks } = DEFINITIONS[kind];
  const members = [
    ...Object.entries(allInserted(attributes)),
    ...Object.entries(blocks).map(([name, block]): [string, unknown] => {
      const one = allInserted(block.attributes);
      return [name, block.nesting === 'single' ? one : [one]];
    }),
  ];
  return members.map(([name, value]) => ({ [kind]: { a: { ...VALID[kind], [name]: value } } }));
}

/** Values that contain the hidden value. Each is wrong in a way of its own. */
const WRONG = [
  HIDDEN,
  `a.example:${HIDDEN}`,
  `${HIDDEN}_:443`,
  `[${HIDDEN}]:443`,
  `ftp://${HIDDEN}`,
  `https://${HIDDEN}:70000`,
  `Proxy-${HIDDEN}`,
  `@${HIDDEN}`,
  `\${svc_${HIDDEN}.a.id}`,
  `\${svc_http_monitor.${HIDDEN}.id}`,
];

describe.each(RESOURCE_KINDS)('in a %s', (kind) => {
  test('wrong values of every form', () => {
    for (const body of bodiesOf(kind)) {
      for (const value of WRONG) expect(errorsOf(body, value).join('\n')).not.toContain(HIDDEN);
    }
  });

  test('any text', () => {
    const text = fc.tuple(anyText(), fc.string()).map((ends) => ends.join(HIDDEN));
    fc.assert(
      fc.property(fc.constantFrom(...bodiesOf(kind)), text, (body, value) => {
        expect(errorsOf(body, value).join('\n')).not.toContain(HIDDEN);
      }),
      { numRuns: 50 },
    );
  });
});

const monitor = (method: string) =>
  `svc_http_monitor:\n  a: { name: a, url: "https://a.example", periodicity: 1m, method: ${method} }\n`;

test.each([
  ['the environment', monitor(`"\${env.HIDDEN}"`)],
  ['a file', monitor(`"\${file.hidden}"`)],
  ['a part of a text', monitor(`"G\${env.HIDDEN}"`)],
  ['an alias of it', monitor('*hidden').replace('  a:', `  b: { name: &hidden "\${env.HIDDEN}" }\n  a:`)],
])('the error for a wrong choice from %s says what is allowed', (_source, text) => {
  const choices = errorsOf(text, 'hunter2').filter((message) => message.includes('.method: '));
  expect(choices).toEqual([
    'svc_http_monitor.a.method: is not one of GET, POST, HEAD, PUT, PATCH, DELETE, OPTIONS',
  ]);
});

test('an inserted value gets no suggestion, which would reveal it', () => {
  expect(errorsOf(monitor(`"\${env.HIDDEN}"`), 'POSTS')).toEqual([
    'svc_http_monitor.a.method: is not one of GET, POST, HEAD, PUT, PATCH, DELETE, OPTIONS',
  ]);
  expect(errorsOf(monitor('POSTS'), '')).toEqual([
    'svc_http_monitor.a.method: "POSTS" is not one of GET, POST, HEAD, PUT, PATCH, DELETE, OPTIONS: did you mean "POST"?',
  ]);
});

test('a slug that two pages share', () => {
  const pages = { a: { title: 'a', slug: INSERTED }, b: { title: 'b', slug: INSERTED } };
  expect(errorsOf({ svc_status_page: pages }, HIDDEN)).toEqual([
    'svc_status_page.b.slug: is taken by svc_status_page.a',
  ]);
});
