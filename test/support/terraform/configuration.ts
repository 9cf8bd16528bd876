import type { Body } from './runner.ts';
import type { SchemaBlock, ValueType } from './wire-schema.ts';

/**
 * A body of literal values by its schema, as the provider gets
 * it: with every attribute and block, and values of their types.
 *
 * @throws Error for a body that the schema does not allow.
 *   Terraform itself reports that, so its tests need the real one.
 */
export function decodedBody(body: Body, { attributes, blocks }: SchemaBlock): Body {
  for (const name of Object.keys(body)) {
    if (!(name in attributes || name in blocks)) throw new Error(`there is no argument ${name}`);
  }
  const ofAttributes = Object.entries(attributes).map(([name, { type, required }]) => {
    if (required && !Object.hasOwn(body, name)) throw new Error(`the argument ${name} is required`);
    return [name, converted(body[name] ?? null, type)];
  });
  const ofBlocks = Object.entries(blocks).map(([name, nested]) => {
    const members = [body[name] ?? []].flat() as Body[];
    if (nested.maximum > 0 && members.length > nested.maximum) throw new Error(`too many ${name} blocks`);
    return [name, members.map((member) => decodedBody(member, nested))];
  });
  return Object.fromEntries([...ofAttributes, ...ofBlocks]);
}

/** @throws Error when there is no conversion */
function converted(value: unknown, type: ValueType): unknown {
  if (value === null) return null;
  // `$${` stands for `${`, and `%%{` for `%{`.
  if (typeof value === 'string' && type === 'string') return value.replace(/([$%])\1\{/g, '$1{');
  if (typeof type === 'string') {
    if (typeof value === typeOfJavaScript[type]) return value;
    if (typeof value !== 'object' && type === 'string') return String(value);
    throw new Error(`a ${type} is required`);
  }
  if (type[0] === 'list' || type[0] === 'set') {
    if (!Array.isArray(value)) throw new Error(`${type[0]} required`);
    const members = value.map((member) => converted(member, type[1]));
    return type[0] === 'list' ? members : [...new Set(members)];
  }
  if (typeof value !== 'object' || Array.isArray(value)) throw new Error(`${type[0]} required`);
  if (type[0] === 'map') {
    return Object.fromEntries(
      Object.entries(value as Body).map(([name, each]) => [name, converted(each, type[1])]),
    );
  }
  return Object.fromEntries(
    Object.entries(type[1]).map(([name, member]) => {
      if (!Object.hasOwn(value as Body, name)) throw new Error(`attribute "${name}" is required`);
      return [name, converted((value as Body)[name] ?? null, member)];
    }),
  );
}

const typeOfJavaScript = { string: 'string', number: 'number', bool: 'boolean' } as const;
