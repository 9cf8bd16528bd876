import { Decimal, isObjectValue, isWhollyKnown, UNKNOWN, type Value } from './value.ts';

/** As Terraform writes types in JSON. */
export type ValueType =
  | 'string'
  | 'number'
  | 'bool'
  | ['list' | 'set' | 'map', ValueType]
  | ['object', Record<string, ValueType>];

export type Path = readonly (string | number)[];

/** A value that is not of its type; Terraform's word for such an answer is an invalid object. */
class NotOfItsType extends Error {
  constructor(path: Path, message: string) {
    super(`${shownPath(path)}: ${message}`);
  }
}

export function shownPath(path: Path): string {
  return path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('');
}

/** @throws NotOfItsType for a missing or further attribute and for a wrong type at any depth */
export function conforming(value: Value, type: ValueType, path: Path = []): Value {
  if (value === null || value === UNKNOWN) return value;
  if (typeof type === 'string') {
    // How numbers travel that are neither whole nor exact in binary.
    if (type === 'number' && typeof value === 'string') return new Decimal(value);
    const is = value instanceof Decimal ? 'number' : typeof value === 'boolean' ? 'bool' : typeof value;
    if (is !== type) throw new NotOfItsType(path, `${type} required, but it is ${is}`);
    return value;
  }
  if (type[0] === 'object') {
    if (!isObjectValue(value)) throw new NotOfItsType(path, 'object required');
    return conformingObject(value, type[1], path);
  }
  const [collection, member] = type;
  if (collection === 'map') {
    if (!isObjectValue(value)) throw new NotOfItsType(path, 'map required');
    return mapEntries(value, (each, key) => conforming(each, member, [...path, key]));
  }
  if (!Array.isArray(value)) throw new NotOfItsType(path, `${collection} required`);
  const members = value.map((each: Value, index) => conforming(each, member, [...path, index]));
  return collection === 'set' ? withoutDuplicates(members, member) : members;
}

function conformingObject(value: Record<string, Value>, types: Record<string, ValueType>, path: Path): Value {
  const expected = Object.keys(types);
  const given = Object.keys(value);
  const further = given.find((name) => !Object.hasOwn(types, name));
  if (further !== undefined) throw new NotOfItsType(path, `unsupported attribute "${further}"`);
  const missing = expected.filter((name) => !Object.hasOwn(value, name));
  if (missing.length > 0) {
    throw new NotOfItsType(
      path,
      `an object with ${expected.length} attributes is required (${given.length} given): ${missing.join(', ')} missing`,
    );
  }
  return Object.fromEntries(
    Object.entries(types).map(([name, type]) => [
      name,
      conforming(value[name] ?? null, type, [...path, name]),
    ]),
  );
}

/** Unknown members may become different ones. */
function withoutDuplicates(members: readonly Value[], type: ValueType): Value[] {
  const keys = members.map((member, index) => canonical(member, type) + (isWhollyKnown(member) ? '' : index));
  return members.filter((_member, index) => keys.indexOf(keys[index] ?? '') === index);
}

function mapEntries(
  value: Readonly<Record<string, Value>>,
  change: (member: Value, name: string) => Value,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(member, name)]));
}

/** Equal texts are equal values: members of sets in one order, keys too. */
function canonical(value: Value, type: ValueType): string {
  if (value === UNKNOWN) return '?';
  if (value === null) return 'null';
  if (value instanceof Decimal) return value.text;
  if (Array.isArray(value)) {
    const member = typeof type === 'string' || type[0] === 'object' ? 'string' : type[1];
    const texts = value.map((each: Value) => canonical(each, member));
    return `[${(type[0] === 'set' ? texts.toSorted() : texts).join(',')}]`;
  }
  if (isObjectValue(value)) {
    const texts = Object.keys(value)
      .toSorted()
      .map((name) => `${JSON.stringify(name)}:${canonical(value[name] ?? null, memberType(type, name))}`);
    return `{${texts.join(',')}}`;
  }
  return JSON.stringify(value);
}

function memberType(type: ValueType, name: string): ValueType {
  if (typeof type === 'string') return type;
  return type[0] === 'object' ? (type[1][name] ?? 'string') : type[1];
}

export function isEqual(one: Value, other: Value, type: ValueType): boolean {
  return canonical(one, type) === canonical(other, type);
}
