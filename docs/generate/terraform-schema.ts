import type { Schema, SchemaAttribute, SchemaBlock, ValueType } from '@svc/terraform-provider/schema.ts';

/** The section `Schema` of a page, in the arrangement of the Terraform registry's own generator. */
export function schemaSection({ attributes, blocks }: Schema): string[] {
  const entries = Object.entries(attributes);
  const isOneOf = (settings: readonly SchemaAttribute['setting'][]) =>
    entries.filter(([, { setting }]) => settings.includes(setting)).map(([name, each]) => line(name, each));
  const blockLines = Object.entries(blocks).map(([name, block]) => blockLine(name, block));
  return [
    '## Schema',
    ...group('### Required', isOneOf(['required'])),
    ...group('### Optional', [...isOneOf(['optional', 'optional-computed']), ...blockLines]),
    ...group('### Read-Only', isOneOf(['computed'])),
    ...Object.entries(blocks).flatMap(([name, block]) => nestedSection(name, block)),
  ];
}

function nestedSection(name: string, { attributes }: SchemaBlock): string[] {
  const entries = Object.entries(attributes);
  const required = entries.filter(([, { setting }]) => setting === 'required');
  const optional = entries.filter(([, { setting }]) => setting !== 'required');
  return [
    '',
    `<a id="${anchorOf(name)}"></a>`,
    '',
    `### Nested Schema for \`${name}\``,
    ...group(
      'Required:',
      required.map(([attribute, each]) => line(attribute, each)),
    ),
    ...group(
      'Optional:',
      optional.map(([attribute, each]) => line(attribute, each)),
    ),
  ];
}

function group(title: string, members: readonly string[]): string[] {
  return members.length === 0 ? [] : ['', title, '', ...members];
}

function line(name: string, { type, sensitive, description }: SchemaAttribute): string {
  return `- \`${name}\` (${[typeName(type), ...(sensitive ? ['Sensitive'] : [])].join(', ')}) ${description}`;
}

function blockLine(name: string, { maximumItems, description }: SchemaBlock): string {
  const below = `(see [below for nested schema](#${anchorOf(name)}))`;
  return `- \`${name}\` (Block List, Max: ${maximumItems}) ${description} ${below}`;
}

function anchorOf(block: string): string {
  return `nestedblock--${block}`;
}

const NAMES = { string: 'String', number: 'Number', bool: 'Boolean' } as const;
const COLLECTIONS = { list: 'List', set: 'Set', map: 'Map' } as const;

function typeName(type: ValueType): string {
  if (typeof type === 'string') return NAMES[type];
  if (type[0] === 'object') return 'Object';
  return `${COLLECTIONS[type[0]]} of ${typeName(type[1])}`;
}
