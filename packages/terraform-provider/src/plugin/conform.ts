import type { AttributePath } from '../provider.ts';
import type { Schema, SchemaBlock, ValueType } from '../schema.ts';
import { ExactNumber, type TerraformObject, type TerraformValue, UNKNOWN } from '../value.ts';
import { numberFromBigint, numberFromText } from './decimal.ts';

/** A value that cannot be converted to its type. `message` never contains the value. */
export type Nonconformity = { readonly path: AttributePath; readonly message: string };

export type Conformed<T> = { readonly value: T; readonly problems: readonly Nonconformity[] };

/**
 * Converts any value to the exact shape of a schema: every attribute and block of the schema is present
 * and no others are, missing values are null, and absent blocks are `[]`. Strings, numbers and booleans
 * are converted as Terraform converts them. A value that cannot be converted becomes null and is reported.
 *
 * Every value from or to Terraform passes through this function: if an answer
 * lacks one attribute, Terraform loses an object that was just created.
 */
export function conform(schema: Schema, raw: unknown): Conformed<TerraformObject | null> {
  const problems: Nonconformity[] = [];
  if (raw === null || raw === undefined) return { value: null, problems };
  return { value: body(schema.attributes, schema.blocks, raw, [], problems), problems };
}

function body(
  attributes: Schema['attributes'],
  blocks: Schema['blocks'],
  raw: unknown,
  path: AttributePath,
  problems: Nonconformity[],
): TerraformObject {
  const given = membersOf(raw);
  if (given === null) problems.push({ path, message: `an object is required, not ${kindOf(raw)}` });
  const value: Record<string, TerraformValue> = {};
  for (const [name, { type }] of Object.entries(attributes)) {
    value[name] = convert(type, member(given, name), [...path, name], problems);
  }
  for (const [name, block] of Object.entries(blocks)) {
    value[name] = blockList(block, member(given, name), [...path, name], problems);
  }
  return value;
}

function blockList(
  block: SchemaBlock,
  raw: unknown,
  path: AttributePath,
  problems: Nonconformity[],
): TerraformValue {
  if (raw === null || raw === undefined) return [];
  // A dynamic block over an unknown value is unknown as a whole.
  if (raw === UNKNOWN) return UNKNOWN;
  if (!Array.isArray(raw)) {
    problems.push({ path, message: `a list of blocks is required, not ${kindOf(raw)}` });
    return [];
  }
  return raw.map((item: unknown, index) => body(block.attributes, {}, item, [...path, index], problems));
}

function convert(
  type: ValueType,
  raw: unknown,
  path: AttributePath,
  problems: Nonconformity[],
): TerraformValue {
  if (raw === null || raw === undefined) return null;
  if (raw === UNKNOWN) return UNKNOWN;
  const value =
    typeof type === 'string' ? PRIMITIVES[type](raw) : convertCollection(type, raw, path, problems);
  if (value !== undefined) return value;
  problems.push({ path, message: `${NOUNS[kindOfType(type)]} is required, not ${kindOf(raw)}` });
  return null;
}

type Collection = Exclude<ValueType, string>;

/** Converts a value to a collection; undefined: the value is not a collection of this kind. */
function convertCollection(
  type: Collection,
  raw: unknown,
  path: AttributePath,
  problems: Nonconformity[],
): TerraformValue | undefined {
  switch (type[0]) {
    case 'list':
      return items(raw)?.map((item, index) => convert(type[1], item, [...path, index], problems));
    case 'set':
      // Members of a set have no index that a path could name.
      return items(raw)?.map((item) => convert(type[1], item, path, problems));
    case 'map':
      return convertMap(type[1], raw, path, problems);
    case 'object': {
      const given = membersOf(raw);
      if (given === null) return undefined;
      return Object.fromEntries(
        Object.entries(type[1]).map(([name, each]) => [
          name,
          convert(each, member(given, name), [...path, name], problems),
        ]),
      );
    }
  }
}

function convertMap(
  type: ValueType,
  raw: unknown,
  path: AttributePath,
  problems: Nonconformity[],
): TerraformValue | undefined {
  const given = membersOf(raw);
  if (given === null) return undefined;
  const value: Record<string, TerraformValue> = {};
  for (const [key, each] of Object.entries(given)) {
    if (key === '__proto__') problems.push({ path, message: 'the key "__proto__" cannot be used in a map' });
    else value[key.toWellFormed()] = convert(type, each, [...path, { key }], problems);
  }
  return value;
}

const PRIMITIVES = {
  string(raw: unknown): string | undefined {
    if (typeof raw === 'string') return raw.toWellFormed();
    if (raw instanceof ExactNumber) return raw.text;
    return ['number', 'bigint', 'boolean'].includes(typeof raw) ? String(raw) : undefined;
  },
  number(raw: unknown): number | ExactNumber | undefined {
    if (typeof raw === 'number') return Number.isNaN(raw) ? undefined : raw;
    if (typeof raw === 'bigint') return numberFromBigint(raw);
    if (typeof raw === 'string') return numberFromText(raw) ?? undefined;
    return raw instanceof ExactNumber ? (numberFromText(raw.text) ?? undefined) : undefined;
  },
  bool(raw: unknown): boolean | undefined {
    if (typeof raw === 'boolean') return raw;
    return raw === 'true' ? true : raw === 'false' ? false : undefined;
  },
};

const NOUNS = {
  string: 'a string',
  number: 'a number',
  bool: 'a boolean',
  list: 'a list',
  set: 'a set',
  map: 'a map',
  object: 'an object',
};

function kindOfType(type: ValueType): keyof typeof NOUNS {
  return typeof type === 'string' ? type : type[0];
}

function kindOf(raw: unknown): string {
  if (raw === null || raw === undefined) return 'null';
  if (raw === UNKNOWN) return 'an unknown value';
  if (Array.isArray(raw)) return 'a list';
  if (raw instanceof ExactNumber) return 'a number';
  if (typeof raw === 'string') return 'a string';
  return typeof raw === 'object' ? 'an object' : `a ${typeof raw}`;
}

function items(raw: unknown): readonly unknown[] | undefined {
  return Array.isArray(raw) ? raw : undefined;
}

function membersOf(raw: unknown): Readonly<Record<string, unknown>> | null {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw) || raw instanceof ExactNumber)
    return null;
  return raw as Readonly<Record<string, unknown>>;
}

function member(given: Readonly<Record<string, unknown>> | null, name: string): unknown {
  return given !== null && Object.hasOwn(given, name) ? given[name] : undefined;
}
