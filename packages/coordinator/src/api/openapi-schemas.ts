import type { Attribute, Attributes, Block, ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { DEFINITIONS, type ResourceKind, resourceSchema } from '@svc/shared/resources/registry.ts';
import { z } from 'zod';
import { id, instant, RESOURCE_MEMBERS } from './answers.ts';
import { answerExample, inputExample } from './examples.ts';

export type Json = { [name: string]: unknown };

const ID = jsonSchema(id, 'output');

/** The JSON Schema 2020-12 that zod generates. */
export function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}

export function inputName(kind: ResourceKind): string {
  return `${kind}_input`;
}

/**
 * The schema of a resource in a request. Rules over several members are not in it; a breach is answered with
 * 422.
 */
export function inputSchemaOf(kind: ResourceKind): Json {
  const { constants, description } = DEFINITIONS[kind];
  const {
    properties,
    required = [],
    ...schema
  } = jsonSchema(resourceSchema(kind, 'api'), 'input') as {
    properties: Record<string, Json>;
    required?: string[];
  };
  const fixed = Object.entries(constants).map(([name, value]) => [name, { type: 'string', const: value }]);
  return {
    ...schema,
    description,
    properties: { ...properties, ...Object.fromEntries(fixed) },
    required: [...Object.keys(constants), ...required],
    examples: [inputExample(kind)],
  };
}

/** The schema of a resource in an answer: all normalized members, and those that the service adds. */
export function answerSchemaOf(kind: ResourceKind): Json {
  const definition: ResourceDefinition = DEFINITIONS[kind];
  const [lists, choices] = [blocksOf(definition, 'list'), blocksOf(definition, 'single')];
  const members = {
    ...Object.fromEntries(
      Object.entries(definition.constants).map(([name, value]) => [name, { type: 'string', const: value }]),
    ),
    ...objectSchema(definition.attributes).properties,
    ...Object.fromEntries(lists.map(([name, block]) => [name, blockSchema(block)])),
    ...Object.fromEntries(
      Object.entries(RESOURCE_MEMBERS[kind]).map(([name, schema]) => [
        name,
        { ...jsonSchema(schema, 'output'), readOnly: true },
      ]),
    ),
  };
  return {
    ...closed(members, definition.description),
    ...exactlyOne(Object.keys(members).length, members, choices),
    examples: [answerExample(kind)],
  };
}

/** Requires exactly the block that is named like `provider_type`. */
function exactlyOne(count: number, members: Json, choices: readonly (readonly [string, Block])[]): Json {
  if (choices.length === 0) return {};
  return {
    properties: {
      ...members,
      ...Object.fromEntries(choices.map(([name, block]) => [name, blockSchema(block)])),
    },
    minProperties: count + 1,
    maxProperties: count + 1,
    oneOf: choices.map(([name]) => ({ properties: { provider_type: { const: name } }, required: [name] })),
  };
}

function blocksOf(definition: ResourceDefinition, nesting: Block['nesting']) {
  return Object.entries(definition.blocks).filter(([, block]) => block.nesting === nesting);
}

function blockSchema({ nesting, maximum, description, attributes }: Block): Json {
  const one = objectSchema(attributes, description);
  return nesting === 'single' ? one : { type: 'array', description, maxItems: maximum, items: one };
}

function objectSchema(attributes: Attributes, description?: string): Json & { properties: Json } {
  const properties = Object.fromEntries(
    Object.entries(attributes).map(([name, attribute]) => [name, attributeSchema(name, attribute)]),
  );
  return closed(properties, description);
}

function closed(properties: Json, description: string | undefined): Json & { properties: Json } {
  return {
    type: 'object',
    ...(description === undefined ? {} : { description }),
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
}

function attributeSchema(name: string, attribute: Attribute): Json {
  const { presence, description } = attribute;
  const schema = valueSchema(name, attribute);
  return {
    ...(presence === 'optional' ? { anyOf: [schema, { type: 'null' }] } : schema),
    description,
    ...(presence === 'computed' ? { readOnly: true } : {}),
  };
}

function valueSchema(name: string, { value, presence }: Attribute): Json {
  if (value.attributes !== undefined) {
    return { type: 'array', maxItems: value.maximumItems, items: objectSchema(value.attributes) };
  }
  if (value.references !== undefined) return value.type === 'set' ? { type: 'array', items: ID } : ID;
  if (presence === 'computed' && name === 'id') return ID;
  if (presence === 'computed' && name.endsWith('_at')) return jsonSchema(instant, 'output');
  // A set is transformed when it is read. An answer has the form of a request.
  return jsonSchema(value.schema, 'input');
}
