import { Document, visit } from 'yaml';
import {
  type ExportedDocument,
  ExportedReference,
  ExportedSecret,
  type Members,
  type Written,
} from './document.ts';
import { environmentName, type SecretsAs } from './secrets.ts';

/**
 * Writes the document as a declared file in YAML (`svc.yaml`).
 *
 * @param heading lines that say where the document comes from, and what it needs
 */
export function declaredYaml(
  document: ExportedDocument,
  secrets: SecretsAs,
  heading: readonly string[],
): string {
  const yaml = new Document(declaration(document, secrets), { aliasDuplicateObjects: false });
  // Lists of plain values are easier to read on one line.
  visit(yaml, {
    Seq(_key, sequence) {
      if (sequence.items.every((item) => 'value' in (item as object))) sequence.flow = true;
    },
    // In a block of text, a line that contains only blanks would be read as indentation.
    Scalar(_key, scalar) {
      if (typeof scalar.value === 'string' && /^[ \t]+$/m.test(scalar.value)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  yaml.commentBefore = heading.map((line) => ` ${line}`).join('\n');
  return yaml.toString({ lineWidth: 0, flowCollectionPadding: false });
}

/** Writes the document as a declared file in JSON. */
export function declaredJson(document: ExportedDocument, secrets: SecretsAs): string {
  return `${JSON.stringify(declaration(document, secrets), null, 2)}\n`;
}

type Plain = string | number | boolean | Plain[] | { [name: string]: Plain };

function declaration({ resources }: ExportedDocument, secrets: SecretsAs): Plain {
  const declared: { [kind: string]: { [name: string]: Plain } } = {};
  for (const { kind, name, attributes, blocks, singleBlocks } of resources) {
    const entries = declared[kind] ?? {};
    declared[kind] = entries;
    entries[name] = {
      ...plainMembers(attributes, secrets),
      ...plainMembers(singleBlocks, secrets),
      ...plainMembers(blocks, secrets),
    };
  }
  return declared;
}

function plainMembers(members: Members, secrets: SecretsAs): { [name: string]: Plain } {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, plain(value, secrets)]));
}

function plain(value: Written, secrets: SecretsAs): Plain {
  if (typeof value === 'string') return literal(value);
  if (value instanceof ExportedReference) return `\${${value.kind}.${value.name}.id}`;
  if (value instanceof ExportedSecret) {
    return secrets === 'inline' ? literal(value.shown()) : `\${env.${environmentName(value)}}`;
  }
  if (isList(value)) return value.map((member) => plain(member, secrets));
  return typeof value === 'object' ? plainMembers(value, secrets) : value;
}

function isList(value: Written): value is readonly Written[] {
  return Array.isArray(value);
}

/** Writes `${` as `$${`. The declared file would read `${` as the beginning of an insertion. */
function literal(text: string): string {
  return text.replaceAll('${', () => '$${');
}
