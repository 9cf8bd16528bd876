import { z } from 'zod';
import type { Instrument, OpenLabels } from '../metrics/instrument.ts';
import { INSTRUMENT_GROUPS, type InstrumentGroup } from '../metrics/registry.ts';
import { OWN_ID, REGION_FORMAT, REGIONS } from '../regions.ts';
import type { Attribute, Attributes, ResourceDefinition, Value } from '../resources/definition.ts';
import { DEFINITIONS, RESOURCE_KINDS, resourceSchema } from '../resources/registry.ts';
import { meaning } from './meaning.ts';

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

/** Writes the page of metrics from the declarations of the instruments. */
function metricsPage(): string {
  return lines([
    '<!-- Generated from packages/shared/src/metrics by `npm run docs`. -->',
    '# Metrics',
    '',
    'The coordinator answers `GET /metrics` on `SVC_LISTEN`, and an agent on `SVC_AGENT_LISTEN`, in the text format of Prometheus (0.0.4).',
    'Where `SVC_METRICS_TOKEN` is set, both require it as a bearer token:',
    '',
    '```yaml',
    'scrape_configs:',
    '  - job_name: svc',
    '    authorization: { credentials_file: /etc/prometheus/svc-metrics-token }',
    '    static_configs: [{ targets: ["coordinator.example.com:8080", "agent-1.example.com:9100"] }]',
    '```',
    '',
    'Where the values of a label are listed, each has its series from the start, with the value 0. Other labels say what bounds the number',
    'of their series, and a series appears with its first value. A counter starts at 0 again with its process. The counters of a shard start at 0 again each time that',
    'a coordinator begins to lead it. `rate()` and `increase()` allow for both. Where a metric has an alarm, its line says when an operator should look at it, and what',
    'to do then. This page does not cover the metrics of the monitored targets: the API has them under `/v1/monitors`.',
    ...INSTRUMENT_GROUPS.flatMap(section),
  ]);
}

function section({ title, description, instruments }: InstrumentGroup): string[] {
  return ['', `## ${title}`, '', description, ...instruments.flatMap(entry)];
}

function entry({ name, kind, unit, label, openLabels, description, advice, bounds }: Instrument): string[] {
  const type = `${kind[0]?.toUpperCase()}${kind.slice(1)}${unit === null ? '' : `, ${unit}`}.`;
  const buckets =
    bounds.length === 0
      ? ''
      : ` Its buckets end at ${bounds.join(', ')} ${unit}; one more holds all larger values.`;
  return [
    '',
    `### \`${name}\``,
    '',
    `*${type}* ${description}${buckets}`,
    ...(label === null ? [] : ['', ...labelTable(label.name, label.values)]),
    ...(openLabels === null ? [] : ['', ...openLabelsTable(openLabels)]),
    ...(advice === null ? [] : ['', `**Alarm.** ${advice}`]),
  ];
}

function labelTable(name: string, values: Readonly<Record<string, string>>): string[] {
  const rows = Object.entries(values).map(([value, meaning]) => [`\`${value}\``, meaning]);
  return table([`\`${name}\``, 'Meaning'], rows);
}

function openLabelsTable(labels: OpenLabels): string[] {
  return table(
    ['Label', 'Values'],
    Object.entries(labels).map(([name, meaning]) => [`\`${name}\``, meaning]),
  );
}

/**
 * The JSON Schema (2020-12) of the declared file, for completion and checks in editors. It cannot express
 * forms of texts, rules over several attributes, and references. svc checks these when it reads the file.
 */
function declaredFileSchema(): object {
  const kinds = RESOURCE_KINDS.map((kind) => {
    const { $schema: _, ...resource } = z.toJSONSchema(resourceSchema(kind, 'file'), {
      io: 'input',
      override: ({ jsonSchema }) => {
        if (jsonSchema.format !== REGION_FORMAT) return;
        delete jsonSchema.format;
        jsonSchema.anyOf = [{ enum: [...REGIONS] }, { pattern: OWN_ID.source }];
      },
    });
    const entries = { type: ['object', 'null'], additionalProperties: resource };
    return [kind, { description: DEFINITIONS[kind].description, ...entries }];
  });
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Declared file of svc: resources by type and local name',
    type: 'object',
    properties: Object.fromEntries(kinds),
    patternProperties: { '^x-': { description: 'A place for anchors. svc reads nothing of it.' } },
    additionalProperties: false,
  };
}

/** Writes JSON as the repository's formatter does: a list of plain values is on one line where it fits. */
function formattedJson(value: object): string {
  const text = JSON.stringify(value, null, 2).replace(
    /^(.*)\[\n((?:\s+(?:"[^"\n]*"|\d+),?\n)+)\s+\](,?)$/gm,
    (block: string, before: string, members: string, after: string) => {
      const list = members
        .trim()
        .split('\n')
        .map((line) => line.trim())
        .join(' ');
      const line = `${before}[${list}]${after}`;
      return line.length <= LINE_WIDTH ? line : block;
    },
  );
  return `${text}\n`;
}

const LINE_WIDTH = 110;

/** A table in Markdown. Its columns are padded, so that its source is readable too. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cells = [head, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [first = '', ...others] = cells.map(line);
  return [first, line(widths.map((width) => '-'.repeat(width))), ...others];
}

/** Joins the lines of a page. */
function lines(parts: readonly string[]): string {
  return `${parts.join('\n')}\n`;
}
