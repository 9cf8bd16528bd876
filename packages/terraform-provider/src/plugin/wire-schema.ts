import type { Schema, SchemaAttribute, SetBy } from '../schema.ts';
import type { Message } from './messages.ts';

/** Format of a description in the protocol: 0 plain text, 1 Markdown. */
const MARKDOWN = 1;
/** Nesting of a block in the protocol: 1 single, 2 list, 3 set, 4 map, 5 group. */
const LIST = 2;

const FLAGS: Readonly<Record<SetBy, Message<'Attribute'>>> = {
  required: { required: true },
  optional: { optional: true },
  computed: { computed: true },
  'optional-computed': { optional: true, computed: true },
};

/** The schema as a message to Terraform. */
export function schemaMessage(schema: Schema): Message<'Schema'> {
  const { version, description, attributes, blocks } = schema;
  return {
    version,
    block: {
      version,
      description,
      description_kind: MARKDOWN,
      attributes: attributeMessages(attributes),
      block_types: Object.entries(blocks).map(([name, block]) => ({
        type_name: name,
        nesting: LIST,
        min_items: 0,
        max_items: block.maximumItems,
        block: {
          description: block.description,
          description_kind: MARKDOWN,
          attributes: attributeMessages(block.attributes),
        },
      })),
    },
  };
}

function attributeMessages(attributes: Readonly<Record<string, SchemaAttribute>>): Message<'Attribute'>[] {
  return Object.entries(attributes).map(([name, { type, setting, sensitive, description, writeOnly }]) => ({
    ...FLAGS[setting],
    name,
    type: Buffer.from(JSON.stringify(type)),
    sensitive,
    write_only: writeOnly === true,
    description,
    description_kind: MARKDOWN,
  }));
}
