import { decode, ExtData, encode } from '@msgpack/msgpack';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyObject, anySchema } from '../../../../test/support/terraform/arbitrary-values.ts';
import type { Schema, ValueType } from '../schema.ts';
import { ExactNumber, type TerraformObject, type TerraformValue, UNKNOWN } from '../value.ts';
import { decodeValue, encodeValue, parseJson } from './dynamic-value.ts';

function schemaOf(types: Readonly<Record<string, ValueType>>, blocks: Schema['blocks'] = {}): Schema {
  const attribute = { setting: 'optional', sensitive: false, description: '' } as const;
  return {
    version: 0,
    description: '',
    attributes: Object.fromEntries(
      Object.entries(types).map(([name, type]) => [name, { ...attribute, type }]),
    ),
    blocks,
  };
}

const BLOCK = {
  maximumItems: 2,
  description: '',
  attributes: schemaOf({ key: 'string' }).attributes,
};

const read = (schema: Schema, raw: unknown) =>
  decodeValue(schema, { msgpack: encode(raw, { useBigInt64: true }) });
const write = (schema: Schema, value: TerraformObject | null) =>
  decode(encodeValue(schema, value).value.msgpack!, { useBigInt64: true });

test('every value of every schema comes back as it was', () => {
  const both = anySchema.chain((schema) => fc.tuple(fc.constant(schema), anyObject(schema)));
  fc.assert(
    fc.property(both, ([schema, value]) => {
      const { value: message, problems } = encodeValue(schema, value);
      expect(problems).toEqual([]);
      expect(decodeValue(schema, message)).toEqual(value);
    }),
  );
});

test('for any value, exactly the attributes and blocks of the schema are written', () => {
  const given = anySchema.chain((schema) =>
    fc.tuple(fc.constant(schema), fc.dictionary(fc.string(), fc.anything() as fc.Arbitrary<TerraformValue>)),
  );
  fc.assert(
    fc.property(given, ([schema, value]) => {
      const written = write(schema, value) as object;
      const names = [...Object.keys(schema.attributes), ...Object.keys(schema.blocks)];
      expect(Object.keys(written).sort()).toEqual(names.sort());
    }),
  );
});

describe('an unknown value', () => {
  const schema = schemaOf({ a: 'string', b: ['set', 'number'] }, { blocks: BLOCK });
  const known = { a: null, b: null, blocks: [] };

  test.each([
    ['without more', new ExtData(0, Uint8Array.of(0))],
    ['with what is known of it', new ExtData(12, encode({ 1: false, 2: 'pre-' }))],
    ['in a form that looks like a date', new ExtData(-1, new Uint8Array(4))],
  ])('comes %s', (_, unknown) => {
    expect(read(schema, { ...known, a: unknown })).toEqual({ ...known, a: UNKNOWN });
  });

  test('may be a member of a set, a whole list of blocks, or within a block', () => {
    const unknown = new ExtData(0, Uint8Array.of(0));
    expect(read(schema, { ...known, b: [1, unknown] })).toEqual({ ...known, b: [1, UNKNOWN] });
    expect(read(schema, { ...known, blocks: unknown })).toEqual({ ...known, blocks: UNKNOWN });
    expect(read(schema, { ...known, blocks: [{ key: unknown }] })).toEqual({
      ...known,
      blocks: [{ key: UNKNOWN }],
    });
  });

  test('is encoded in the same way as by Terraform', () => {
    const message = encodeValue(schemaOf({ a: 'string' }), { a: UNKNOWN }).value;
    expect(Buffer.from(message.msgpack!).toString('hex')).toBe('81a161d40000');
  });
});

describe('numbers', () => {
  const schema = schemaOf({ n: 'number' });

  test.each<[string, unknown, number | ExactNumber]>([
    ['a small one', 7, 7],
    ['64 bits within the safe range', 2n ** 40n, 2 ** 40],
    ['64 bits beyond it', 2n ** 63n - 1n, new ExactNumber('9223372036854775807')],
    ['a fraction as text', '0.1', 0.1],
    ['a double', 0.5, 0.5],
    ['more than 64 bits', '18446744073709551616', new ExactNumber('18446744073709551616')],
  ])('%s', (_, wire, expected) => {
    const value = read(schema, { n: wire });
    expect(value).toEqual({ n: expected });
    expect(write(schema, value)).toEqual({ n: wire });
  });

  test('JSON keeps all digits', () => {
    const json = Buffer.from('{"n": 9007199254740993.5}');
    expect(decodeValue(schema, { json })).toEqual({ n: new ExactNumber('9007199254740993.5') });
  });
});

describe('the shape of the schema', () => {
  const schema = schemaOf(
    { s: 'string', n: 'number', o: ['list', ['object', { k: 'string', v: 'bool' }]] },
    {
      blocks: BLOCK,
    },
  );
  const nothing = { s: null, n: null, o: null, blocks: [] };

  test('missing attributes are null, absent blocks are an empty list', () => {
    expect(write(schema, {})).toEqual(nothing);
    expect(write(schema, { o: [{}], blocks: [{}] })).toEqual({
      ...nothing,
      o: [{ k: null, v: null }],
      blocks: [{ key: null }],
    });
  });

  test('members that the schema lacks are left out', () => {
    expect(write(schema, { x: 1, o: [{ k: 'a', v: true, x: 1 }] })).toEqual({
      ...nothing,
      o: [{ k: 'a', v: true }],
    });
  });

  test('members that every JavaScript object has are no attributes', () => {
    expect(
      write(
        schemaOf({ constructor: 'string', toString: 'string' } as unknown as Record<string, ValueType>),
        {},
      ),
    ).toEqual({
      constructor: null,
      toString: null,
    });
  });

  test('values are converted as Terraform converts them', () => {
    const value = { s: 1, n: '2.5', o: [{ k: true, v: 'false' }] };
    expect(write(schema, value)).toEqual({ ...nothing, s: '1', n: 2.5, o: [{ k: 'true', v: false }] });
  });

  test('a value that cannot be converted is null, and is reported with its place but without its value', () => {
    const { value, problems } = encodeValue(schema, { n: 'secret', blocks: [{ key: ['secret'] }] });
    expect(decodeValue(schema, value)).toEqual({ ...nothing, blocks: [{ key: null }] });
    expect(problems).toEqual([
      { path: ['n'], message: 'a number is required, not a string' },
      { path: ['blocks', 0, 'key'], message: 'a string is required, not a list' },
    ]);
  });

  test('a lone surrogate does not spoil the answer', () => {
    expect(write(schema, { s: 'a\ud800b' })).toEqual({ ...nothing, s: 'a\ufffdb' });
  });

  test('an absent object is null', () => {
    expect(write(schema, null)).toBeNull();
    expect(decodeValue(schema, { msgpack: Uint8Array.of(0xc0) })).toBeNull();
    expect(decodeValue(schema, undefined)).toBeNull();
  });
});

describe('bytes that cannot be decoded', () => {
  const schema = schemaOf({ m: ['map', 'string'] });
  // `{"m": {"__proto__": "x"}}` in MessagePack.
  const poisoned = Buffer.from('81a16d81a95f5f70726f746f5f5fa178', 'hex');

  test('the key __proto__ is refused by name', () => {
    const refusal = 'the key "__proto__" cannot be used in a map';
    expect(() => decodeValue(schema, { msgpack: poisoned })).toThrow(refusal);
    expect(() => decodeValue(schema, { json: Buffer.from('{"m":{"__proto__":"x"}}') })).toThrow(refusal);
  });

  test.each(['c1', '81', 'a161ff', '93'])('%s', (hex) => {
    expect(() => decodeValue(schema, { msgpack: Buffer.from(hex, 'hex') })).toThrow('are not MessagePack');
  });

  test.each(['dd01000000', 'df01000000', 'db01000000', 'c601000000', 'c9010000000c'])(
    'a length of sixteen million that nothing follows reserves no memory: %s',
    (hex) => {
      const message = { msgpack: Buffer.from(hex, 'hex') };
      expect(() => decodeValue(schema, message)).toThrow('are not MessagePack');
      expect(() => decodeValue(schema, message)).toThrow(
        expect.objectContaining({
          cause: expect.objectContaining({ message: expect.stringMatching(/length exceeded/) }),
        }),
      );
    },
  );

  test('the error about JSON does not quote it', () => {
    expect(() => parseJson(Buffer.from('{"token": secret'))).toThrow('16 bytes are not JSON');
  });

  test('a value of another type is reported with its place', () => {
    expect(() => read(schema, { m: { a: ['x'] } })).toThrow('m["a"]: a string is required, not a list');
    expect(() => read(schema, ['x'])).toThrow('an object is required, not a list');
  });
});
