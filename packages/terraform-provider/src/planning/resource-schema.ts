import { meaning } from '@svc/shared/reference/meaning.ts';
import type {
  Attribute,
  Attributes,
  Block,
  Presence,
  ResourceDefinition,
  Value,
} from '@svc/shared/resources/definition.ts';
import type { Schema, SchemaAttribute, SchemaBlock, SetBy, ValueType } from '../schema.ts';
import { isWriteOnly } from './write-only.ts';

/**
 * Terraform's schema of a resource whose definition is in Terraform's form
 * (write-only.ts). An attribute with a default is optional and computed: only for such
 * an attribute may a provider plan a value that the configuration does not contain.
 */
export function resourceSchema({ description, attributes, blocks }: ResourceDefinition): Schema {
  return {
    version: 0,
    description,
    attributes: schemaAttributes(attributes),
    blocks: mapped(blocks, schemaBlock),
  };
}

/**
 * The schema of a block. A single block is declared as a list too: the length of the list tells Terraform
 * whether the block is absent or empty.
 */
function schemaBlock({ maximum, description, attributes }: Block): SchemaBlock {
  return { maximumItems: maximum, description, attributes: schemaAttributes(attributes) };
}

function schemaAttributes(attributes: Attributes): Readonly<Record<string, SchemaAttribute>> {
  return mapped(attributes, (attribute, name) => ({
    type: valueType(attribute.value),
    setting: SETTINGS[attribute.presence],
    sensitive: attribute.sensitive,
    ...(isWriteOnly(attributes, name) ? { writeOnly: true } : {}),
    description: explained(attribute),
  }));
}

const SETTINGS: Readonly<Record<Presence, SetBy>> = {
  required: 'required',
  optional: 'optional',
  default: 'optional-computed',
  computed: 'computed',
};

/** The type of the list of all blocks with one name. */
export function blockType(block: Block): ValueType {
  return ['list', ['object', mapped(block.attributes, ({ value }) => valueType(value))]];
}

export function valueType(value: Value): ValueType {
  switch (value.type) {
    case 'string':
    case 'number':
    case 'bool':
      return value.type;
    case 'set':
    case 'list':
    case 'map':
      return [value.type, 'string'];
    case 'objects':
      return ['list', ['object', mapped(value.attributes ?? {}, ({ value: member }) => valueType(member))]];
    default:
      return value.type satisfies never;
  }
}

function explained(attribute: Attribute): string {
  const members = Object.entries(attribute.value.attributes ?? {}).map(
    ([name, member]) => `\`${name}\`: ${explained(member)}`,
  );
  const sentences = [
    meaning(attribute.value, attribute.description),
    ...members,
    attribute.presence === 'default' ? `Default: \`${JSON.stringify(attribute.default)}\`.` : '',
    attribute.replaces ? 'A change replaces the resource.' : '',
  ];
  return sentences.filter((sentence) => sentence !== '').join(' ');
}

function mapped<T, U>(
  members: Readonly<Record<string, T>>,
  change: (member: T, name: string) => U,
): Readonly<Record<string, U>> {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, change(member, name)]));
}
