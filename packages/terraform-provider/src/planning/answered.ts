import type { Attribute, Attributes, Block, Value } from '@svc/shared/resources/definition.ts';
import type { TerraformObject, TerraformValue } from '../value.ts';

/**
 * Converts a JSON value of the API to Terraform's value. A missing value becomes null,
 * and so does a value of another type, which a later version of the API may send: one
 * value that does not fit its type would make Terraform lose the whole object.
 */
export function answeredAttribute({ value }: Attribute, json: unknown): TerraformValue {
  return converted(value, json);
}

export function answeredBlock({ nesting, attributes }: Block, json: unknown): TerraformObject[] {
  const members = nesting === 'list' ? (Array.isArray(json) ? json : []) : [json];
  return members.filter(isRecord).map((member) => answeredObject(attributes, member));
}

function answeredObject(attributes: Attributes, json: Readonly<Record<string, unknown>>): TerraformObject {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, { value }]) => [name, converted(value, json[name])]),
  );
}

function converted(value: Value, json: unknown): TerraformValue {
  switch (value.type) {
    case 'string':
      return typeof json === 'string' ? json : null;
    case 'number':
      return typeof json === 'number' ? json : null;
    case 'bool':
      return typeof json === 'boolean' ? json : null;
    case 'set':
    case 'list':
      return Array.isArray(json) ? json.filter((member) => typeof member === 'string') : null;
    case 'map':
      return isRecord(json) ? texts(json) : null;
    case 'objects':
      return Array.isArray(json)
        ? json.filter(isRecord).map((member) => answeredObject(value.attributes ?? {}, member))
        : null;
    default:
      return value.type satisfies never;
  }
}

function texts(json: Readonly<Record<string, unknown>>): TerraformObject {
  const members = Object.entries(json).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(members);
}

function isRecord(json: unknown): json is Readonly<Record<string, unknown>> {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}
