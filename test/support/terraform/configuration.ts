import { evaluated, type Scope } from './expressions.ts';
import type { Body } from './runner.ts';
import { Decimal, isObjectValue, type ObjectValue, UNKNOWN, type Value } from './value.ts';
import type { ValueType } from './value-type.ts';
import { emptyObject, type SchemaBlock } from './wire-schema.ts';

/** Arguments that Terraform itself reads. */
const META = new Set(['depends_on', 'lifecycle', 'provider']);

/**
 * A body by its schema, as the provider gets it: with every attribute and block, and values of their types.
 *
 * @throws Error for a body that the schema does not allow. Terraform itself reports that, so its tests need the
 *   real one.
 */
export function decodedBody(body: Body, block: SchemaBlock, scope: Scope): ObjectValue {
  const own = Object.fromEntries(Object.entries(body).filter(([name]) => !META.has(name)));
  return decodedBlock(evaluated(own, scope) as ObjectValue, block);
}

function decodedBlock(body: ObjectValue, block: SchemaBlock): ObjectValue {
  for (const name of Object.keys(body)) {
    if (!(name in block.attributes || name in block.blocks)) throw new Error(`there is no argument ${name}`);
  }
  const result: Record<string, Value> = emptyObject(block);
  for (const [name, { type, required }] of Object.entries(block.attributes)) {
    if (Object.hasOwn(body, name)) result[name] = converted(body[name] ?? null, type);
    else if (required) throw new Error(`the argument ${name} is required`);
  }
  for (const [name, nested] of Object.entries(block.blocks)) {
    const given = body[name] ?? [];
    if (given === UNKNOWN) {
      result[name] = UNKNOWN;
      continue;
    }
    const members: readonly Value[] = Array.isArray(given) ? given : [given];
    if (nested.maximum > 0 && members.length > nested.maximum) throw new Error(`too many ${name} blocks`);
    result[name] = members.map((member) => decodedBlock(isObjectValue(member) ? member : {}, nested));
  }
  return result;
}

/** @throws Error when there is no conversion */
function converted(value: Value, type: ValueType): Value {
  if (value === null || value === UNKNOWN) return value;
  if (type === 'string') {
    if (value instanceof Decimal) return value.text;
    if (typeof value === 'string' || typeof value === 'boolean') return String(value);
    throw new Error('string required');
  }
  if (type === 'number') {
    if (value instanceof Decimal) return value;
    if (typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value)) return new Decimal(value);
    throw new Error('a number is required');
  }
  if (type === 'bool') {
    if (typeof value === 'boolean') return value;
    if (value === 'true' || value === 'false') return value === 'true';
    throw new Error('a bool is required');
  }
  if (type[0] === 'list' || type[0] === 'set') return convertedMembers(value, type);
  if (!isObjectValue(value)) throw new Error(`${type[0]} required`);
  if (type[0] === 'map') {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, converted(each, type[1])]));
  }
  const missing = Object.keys(type[1]).filter((name) => !Object.hasOwn(value, name));
  if (missing.length > 0)
    throw new Error(`attribute ${missing.map((name) => `"${name}"`).join(', ')} is required`);
  return Object.fromEntries(
    Object.entries(type[1]).map(([name, member]) => [name, converted(value[name] ?? null, member)]),
  );
}

function convertedMembers(value: Value, [collection, member]: ['list' | 'set' | 'map', ValueType]): Value {
  if (!Array.isArray(value)) throw new Error(`${collection} of ${String(member)} required`);
  const members = value.map((each: Value, index) => {
    try {
      return converted(each, member);
    } catch (error) {
      throw new Error(`element ${index}: ${(error as Error).message}`);
    }
  });
  if (collection === 'list') return members;
  return members.filter((each, index) => each === UNKNOWN || members.indexOf(each) === index);
}
