import type { Attribute, Attributes, ResourceDefinition, Value } from '../resources/definition.ts';
import { DEFINITIONS } from '../resources/registry.ts';
import { declaredFileSchema, formattedJson } from './json-schema.ts';
import { lines, table } from './markdown.ts';
import { meaning } from './meaning.ts';
import { metricsPage } from './metrics-page.ts';

/**
 * The generated reference by file name: an index, a page for each declared resource, the schema for editors,
 * and the page of metrics.
 */
export function referenceFiles(): ReadonlyMap<string, string> {
  const pages = Object.values(DEFINITIONS).map((definition): [string, string] => [
    fileName(definition),
    page(definition),
  ]);
  return new Map([
    ['README.md', index()],
    ['svc.schema.json', formattedJson(declaredFileSchema())],
    ['metrics.md', metricsPage()],
    ...pages,
  ]);
}

function fileName(definition: ResourceDefinition): string {
  return `${definition.kind.replace(/^svc_/, '').replaceAll('_', '-')}.md`;
}

const GENERATED = '<!-- Generated from packages/shared/src/resources by `npm run docs`. -->';

function index(): string {
  const rows = Object.values(DEFINITIONS).map((definition) => [
    `[\`${definition.kind}\`](${fileName(definition)})`,
    definition.description,
  ]);
  return lines([
    GENERATED,
    '# Resources',
    '',
    'The declared file, Terraform and the HTTP API use the same attributes. Unknown attributes are refused. `null` means the same as leaving an attribute out.',
    '',
    ...table(['Resource', 'What it is'], rows),
    '',
    'An attribute that is marked as sensitive or as encrypted is a secret. It is encrypted in the database, and tokens of scope `read` see `********` in its place. All other attributes are stored in clear. Tokens of every scope see them, and alerts, logs and pages may show them.',
    '',
    'Besides the resources there are [settings](settings.md) and [metrics](metrics.md).',
    '',
    'Editors complete and check the declared file with [svc.schema.json](svc.schema.json): put `# yaml-language-server: $schema=<path or URL of svc.schema.json>` into its first line.',
  ]);
}

function page(definition: ResourceDefinition): string {
  const { attributes, blocks, rules } = definition;
  const isWritten = ([, attribute]: [string, Attribute]) => attribute.presence !== 'computed';
  const entries = Object.entries(attributes);
  return lines([
    GENERATED,
    `# ${definition.title}: \`${definition.kind}\``,
    '',
    definition.description,
    '',
    '## Attributes',
    '',
    ...attributeTable(Object.fromEntries(entries.filter(isWritten))),
    '',
    'Read-only:',
    '',
    ...table(
      ['Attribute', 'Type', 'Meaning'],
      entries
        .filter((entry) => !isWritten(entry))
        .map(([name, { value, description }]) => [`\`${name}\``, typeOf(value), meaning(value, description)]),
    ),
    ...Object.entries(blocks).flatMap(([name, block]) => [
      '',
      `## Block \`${name}\``,
      '',
      `${block.description} ${block.nesting === 'list' ? `A list of at most ${block.maximum}.` : 'At most one.'}`,
      '',
      ...attributeTable(block.attributes),
    ]),
    ...(rules.length === 0 ? [] : ['', '## Rules', '', ...rules.map((rule) => `- ${rule.description}`)]),
  ]);
}

function attributeTable(attributes: Attributes): string[] {
  const rows = Object.entries(attributes).flatMap(([name, attribute]) => [
    attributeRow(name, attribute),
    ...Object.entries(attribute.value.attributes ?? {}).map(([member, inner]) =>
      attributeRow(`${name}[].${member}`, inner),
    ),
  ]);
  return table(['Attribute', 'Type', 'Required', 'Default', 'Meaning'], rows);
}

function attributeRow(name: string, attribute: Attribute): string[] {
  const notes = [
    meaning(attribute.value, attribute.description),
    secrecy(attribute),
    attribute.replaces ? 'A change of it replaces the object.' : '',
  ];
  return [
    `\`${name}\``,
    typeOf(attribute.value),
    attribute.presence === 'required' ? 'yes' : 'no',
    attribute.presence === 'default' ? `\`${JSON.stringify(attribute.default)}\`` : '',
    notes.filter((note) => note !== '').join(' '),
  ];
}

function secrecy({ sensitive, secret, value: { secretPart } }: Attribute): string {
  if (sensitive) return 'Sensitive.';
  if (secret) return 'Encrypted; masked for tokens of scope `read`.';
  return secretPart === undefined
    ? ''
    : `Encrypted, and masked for tokens of scope \`read\`: its ${secretPart.name}.`;
}

function typeOf({ type }: Value): string {
  const names = {
    string: 'string',
    number: 'number',
    bool: 'boolean',
    set: 'set of strings',
    list: 'list of strings',
    map: 'map of strings',
    objects: 'list of objects',
  } as const;
  return names[type];
}
