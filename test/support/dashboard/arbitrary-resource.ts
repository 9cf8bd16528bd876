import { REGIONS } from '@svc/shared/regions.ts';
import type {
  Attribute,
  Attributes,
  Block,
  ResourceDefinition,
  Value,
} from '@svc/shared/resources/definition.ts';
import fc from 'fast-check';

type Json = Record<string, unknown>;

/** Generates the texts of resources: any texts, or texts that people write in one line. */
export type Texts = fc.Arbitrary<string>;

/**
 * Resources as the API returns them, by their definition. Texts need not have the form that their attribute
 * requires, because forms do not check it.
 *
 * @param chosen the one group that is present, if an attribute of this name says which one: `provider_type`
 */
export function arbitraryResource(
  { attributes, blocks }: ResourceDefinition,
  texts: Texts,
  chooser: string | null,
): fc.Arbitrary<Json> {
  const members = fc.record(recordOf(attributes, texts));
  const lists = fc.record(
    Object.fromEntries(
      Object.entries(blocks)
        .filter(([, { nesting }]) => nesting === 'list')
        .map(([name, block]) => [name, rowsOf(block.attributes, texts, block.maximum)]),
    ),
  );
  const plain = fc.tuple(members, lists).map(([one, other]): Json => ({ ...one, ...other }));
  if (chooser === null) return plain;
  return fc.constantFrom(...Object.entries(blocks)).chain(([name, block]: [string, Block]) =>
    fc.tuple(plain, fc.record(recordOf(block.attributes, texts))).map(
      ([one, group]): Json => ({
        ...one,
        [chooser]: name,
        [name]: group,
      }),
    ),
  );
}

function recordOf(attributes: Attributes, texts: Texts): Record<string, fc.Arbitrary<unknown>> {
  const given = Object.entries(attributes).filter(([, { presence }]) => presence !== 'computed');
  return Object.fromEntries(given.map(([name, attribute]) => [name, attributeOf(attribute, texts)]));
}

function attributeOf({ value, presence }: Attribute, texts: Texts): fc.Arbitrary<unknown> {
  const given = anyValue(value, texts);
  return presence === 'optional' ? fc.option(given, { nil: null }) : given;
}

function anyValue(value: Value, texts: Texts): fc.Arbitrary<unknown> {
  const { type, oneOf = [], references, attributes = {}, maximumItems = 5 } = value;
  const ids = fc.integer({ min: 1, max: 1e9 }).map(String);
  switch (type) {
    case 'string':
      return oneOf.length > 0 ? fc.constantFrom(...oneOf) : references === undefined ? texts : ids;
    case 'number':
      return fc.oneof(
        fc.integer(),
        fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
      );
    case 'bool':
      return fc.boolean();
    case 'set':
      // The only set whose members no schema lists is that of regions.
      return references === undefined
        ? fc.subarray(oneOf.length > 0 ? [...oneOf] : [...REGIONS, 'office-berlin'], { minLength: 1 })
        : fc.uniqueArray(ids, { maxLength: 5 });
    case 'list':
      return fc.array(texts, { maxLength: Math.min(5, maximumItems) });
    case 'map':
      return fc.dictionary(texts, texts, { maxKeys: 5 });
    case 'objects':
      return rowsOf(attributes, texts, maximumItems);
  }
}

function rowsOf(attributes: Attributes, texts: Texts, maximum: number): fc.Arbitrary<Json[]> {
  return fc.array(fc.record(recordOf(attributes, texts)), { maxLength: Math.min(5, maximum) });
}
