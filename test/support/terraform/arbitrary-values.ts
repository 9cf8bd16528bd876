import type { Schema, SchemaAttribute, ValueType } from '@svc/terraform-provider/schema.ts';
import {
  ExactNumber,
  type TerraformObject,
  type TerraformValue,
  UNKNOWN,
} from '@svc/terraform-provider/value.ts';
import fc from 'fast-check';

const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,11}$/);

const type: fc.Arbitrary<ValueType> = fc.letrec<{ type: ValueType }>((tie) => ({
  type: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('string' as const, 'number' as const, 'bool' as const),
    fc.tuple(fc.constantFrom('list' as const, 'set' as const, 'map' as const), tie('type')),
    fc.tuple(fc.constant('object' as const), fc.dictionary(name, tie('type'), { maxKeys: 4 })),
  ),
})).type;

const attribute: fc.Arbitrary<SchemaAttribute> = fc.record({
  type,
  setting: fc.constantFrom('required', 'optional', 'computed', 'optional-computed'),
  sensitive: fc.boolean(),
  description: fc.constant(''),
});

/** Any schema: types nested in each other, blocks, names that clash with members of every object. */
export const anySchema: fc.Arbitrary<Schema> = fc
  .tuple(
    fc.dictionary(fc.oneof(name, fc.constantFrom('constructor', 'toString', 'length')), attribute, {
      maxKeys: 6,
    }),
    fc.dictionary(name, fc.dictionary(name, attribute, { maxKeys: 4 }), { maxKeys: 2 }),
  )
  .map(([attributes, blocks]) => ({
    version: 0,
    description: '',
    attributes,
    blocks: Object.fromEntries(
      Object.entries(blocks)
        .filter(([key]) => !Object.hasOwn(attributes, key))
        .map(([key, inner]) => [key, { maximumItems: 3, description: '', attributes: inner }]),
    ),
  }));

/** Any value of a schema, with null and unknown anywhere. */
export function anyObject({ attributes, blocks }: Schema): fc.Arbitrary<TerraformObject> {
  const lists = Object.entries(blocks).map(([key, block]) => [
    key,
    fc.oneof(
      { weight: 5, arbitrary: fc.array(members(block.attributes), { maxLength: block.maximumItems }) },
      { weight: 1, arbitrary: fc.constant(UNKNOWN) },
    ),
  ]);
  return fc
    .tuple(members(attributes), fc.record(Object.fromEntries(lists)))
    .map(([one, other]) => ({ ...one, ...other }) as TerraformObject);
}

function members(attributes: Schema['attributes']): fc.Arbitrary<TerraformObject> {
  return fc.record(
    Object.fromEntries(Object.entries(attributes).map(([key, each]) => [key, anyValue(each.type)])),
    { noNullPrototype: true },
  );
}

function anyValue(of: ValueType): fc.Arbitrary<TerraformValue> {
  const known = typeof of === 'string' ? PRIMITIVES[of] : collection(of);
  return fc.oneof(
    { weight: 6, arbitrary: known },
    { weight: 1, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constant(UNKNOWN) },
  );
}

function collection(of: Exclude<ValueType, string>): fc.Arbitrary<TerraformValue> {
  switch (of[0]) {
    case 'list':
    case 'set':
      return fc.array(anyValue(of[1]), { maxLength: 4 });
    case 'map':
      return fc.dictionary(
        fc.string({ unit: 'grapheme' }).filter((key) => key !== '__proto__'),
        anyValue(of[1]),
        { maxKeys: 4, noNullPrototype: true },
      );
    case 'object':
      return fc.record(
        Object.fromEntries(Object.entries(of[1]).map(([key, each]) => [key, anyValue(each)])),
        { noNullPrototype: true },
      );
  }
}

const number: fc.Arbitrary<TerraformValue> = fc.oneof(
  fc.maxSafeInteger(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  fc.bigInt({ min: 2n ** 70n }).map((value) => new ExactNumber(`${value}1`)),
);

const PRIMITIVES: Readonly<Record<'string' | 'number' | 'bool', fc.Arbitrary<TerraformValue>>> = {
  string: fc.string({ unit: 'grapheme' }),
  number,
  bool: fc.boolean(),
};
