import { SECRET } from '../channel-samples.ts';

/** A text that is sent in place of a request's valid body. */
export type Mutation = {
  readonly name: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string | undefined>>;
};

const KIB = 1_024;

/** JSON texts that replace the value of a member. */
const VALUES: readonly string[] = [
  'null',
  'true',
  '0',
  '-0',
  '-1',
  '0.5',
  '1e308',
  '1e999',
  '9007199254740993',
  '""',
  '" "',
  '"\\u0000"',
  '"a\\nb"',
  '"\\ud800"',
  '"********"',
  JSON.stringify('x'.repeat(257)),
  JSON.stringify('x'.repeat(1_025)),
  JSON.stringify(`https://example.com/${'x'.repeat(9 * KIB)}`),
  '[]',
  '[null]',
  '["999999999"]',
  '"999999999"',
  JSON.stringify(Array.from({ length: 101 }, () => 'x')),
  '{}',
  '{"__proto__":{"a":1}}',
  '{"key":"a","value":"b","constructor":"c"}',
];

const UNKNOWN = ['unknown', '__proto__', 'constructor', 'toString', '', 'a/b~c'];

/**
 * The share of one of several operations that take the same body in the pairs of a member and a value:
 * `turn` from 0 to `of` - 1. Each operation gets each member and each value.
 */
export type Share = { readonly turn: number; readonly of: number };

/** Bodies that differ from a valid one in one point. */
export function mutations(valid: object, members: readonly string[], share: Share): Mutation[] {
  return [...changed(valid, members, share), ...broken(JSON.stringify(valid))];
}

function changed(valid: object, members: readonly string[], share: Share): Mutation[] {
  const entries = Object.entries(valid);
  // In the order of their names, which is the same for all that share the pairs.
  const known = [...new Set([...entries.map(([name]) => name), ...members])].toSorted();
  const text = (name: string, value: string) =>
    `{${[...entries.filter(([other]) => other !== name).map(([key, one]) => pair(key, JSON.stringify(one))), pair(name, value)].join()}}`;
  return [
    ...entries.map(([name]) => ({
      name: `without ${name}`,
      body: JSON.stringify(Object.fromEntries(entries.filter(([other]) => other !== name))),
    })),
    ...known.flatMap((name, member) =>
      VALUES.filter((_, index) => (member + index) % share.of === share.turn).map((value) => ({
        name: `${name}: ${value.slice(0, 40)}`,
        body: text(name, value),
      })),
    ),
    ...UNKNOWN.map((name) => ({ name: `unknown ${JSON.stringify(name)}`, body: text(name, '1') })),
    ...entries.flatMap(([name, value]) => inner(name, value, text, share)),
  ];
}

/** Makes such bodies one level deeper: for members of blocks, and of the first entry of a list. */
function inner(
  name: string,
  value: unknown,
  text: (name: string, value: string) => string,
  share: Share,
): Mutation[] {
  const isList = Array.isArray(value);
  const object: unknown = isList ? value[0] : value;
  if (typeof object !== 'object' || object === null) return [];
  const written = (body: string) => text(name, isList ? `[${body}]` : body);
  const many = isList ? JSON.stringify(Array.from({ length: 21 }, () => object)) : JSON.stringify([object]);
  return [
    ...changed(object, [], share).map((one) => ({
      name: `${name}: ${one.name}`,
      body: written(String(one.body)),
    })),
    { name: `${name}: too many`, body: text(name, many) },
  ];
}

function pair(name: string, value: string): string {
  return `${JSON.stringify(name)}:${value}`;
}

/** Makes bodies that are no JSON, are not JSON that svc accepts, or are not declared as JSON. */
function broken(text: string): Mutation[] {
  const type = (value: string | undefined) => ({ 'content-type': value });
  return [
    { name: 'no body', body: '' },
    { name: 'blanks', body: ' \n' },
    { name: 'truncated', body: text.slice(0, -1) },
    { name: 'cut in a text', body: text.slice(0, Math.ceil(text.length / 2)) },
    { name: 'more behind it', body: `${text}}` },
    { name: 'a comment', body: `/* ${SECRET} */${text}` },
    { name: 'a byte order mark', body: `\ufeff${text}` },
    { name: 'UTF-16', body: Buffer.from(text, 'utf16le') },
    { name: 'not UTF-8', body: Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.of(0xff, 0x7d)]) },
    { name: 'deep', body: `${'['.repeat(20_000)}${']'.repeat(20_000)}` },
    { name: 'deep in a member', body: `{"name":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}` },
    { name: 'a list', body: `[${text}]` },
    ...['null', '1', '""', 'true', '[]'].map((body) => ({ name: body, body })),
    { name: 'a byte too long', body: `"${'x'.repeat(KIB * KIB - 1)}"` },
    { name: 'just not too long', body: `"${'x'.repeat(KIB * KIB - 2)}"` },
    { name: 'no content-type', body: text, headers: type(undefined) },
    { name: 'text/plain', body: text, headers: type('text/plain') },
    { name: 'a form', body: 'a=b', headers: type('application/x-www-form-urlencoded') },
    { name: 'XML', body: '<a/>', headers: type('application/xml; charset=utf-8') },
  ];
}
