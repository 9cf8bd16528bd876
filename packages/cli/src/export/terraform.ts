import {
  type ExportedDocument,
  ExportedReference,
  type ExportedResource,
  ExportedSecret,
  type Members,
  type Written,
} from './document.ts';
import { type HclBlock, HclExpression, type HclValue, hclFile } from './hcl.ts';
import type { SecretsAs } from './secrets.ts';

const PROVIDER = { source: 'svc/svc', version: '~> 0.1' };
/** The first version of Terraform that knows import blocks, and all later versions. */
const TERRAFORM = '>= 1.5';

/**
 * Writes the document as one Terraform file that imports every resource.
 *
 * @param heading lines that say where the document comes from, and what it needs
 */
export function terraformFile(
  document: ExportedDocument,
  secrets: SecretsAs,
  heading: readonly string[],
): string {
  const { resources } = document;
  const variables = secrets === 'variables' ? document.secrets.map(variable) : [];
  const main = hclFile([...SETTINGS, ...variables, ...resources.map((each) => resourceBlock(each, secrets))]);
  const imports = hclFile(resources.map(importBlock));
  const comment = [...heading, 'The provider takes its settings from SVC_BASE_URL and SVC_API_TOKEN.'];
  return [
    `${comment.map((line) => `# ${line}\n`).join('')}\n${main}`,
    ...(resources.length === 0 ? [] : [`# Not needed any more after the first apply.\n\n${imports}`]),
  ].join('\n');
}

const SETTINGS: readonly HclBlock[] = [
  {
    type: 'terraform',
    attributes: { required_version: TERRAFORM },
    blocks: [{ type: 'required_providers', attributes: { svc: PROVIDER } }],
  },
  { type: 'provider', labels: ['svc'], attributes: {} },
];

/**
 * The variable for a secret. It is marked as sensitive, unless Terraform hides the whole
 * mapping that contains the secret: Terraform would then plan a change that only adds the mark.
 */
function variable({ name, where, hiding }: ExportedSecret): HclBlock {
  const attributes = { description: where, type: new HclExpression('string') };
  const marks: { sensitive?: true } = hiding === 'mapping' ? {} : { sensitive: true };
  return { type: 'variable', labels: [name], attributes: { ...attributes, ...marks } };
}

function resourceBlock(resource: ExportedResource, secrets: SecretsAs): HclBlock {
  const { kind, name, attributes, singleBlocks, blocks } = resource;
  const single = Object.entries(singleBlocks).map(([type, members]) => [type, [members]] as const);
  return {
    type: 'resource',
    labels: [kind, name],
    attributes: hclMembers(attributes, secrets),
    blocks: [...single, ...Object.entries(blocks)].flatMap(([type, several]) =>
      several.map((members) => ({ type, attributes: hclMembers(members, secrets) })),
    ),
  };
}

function importBlock({ kind, name, importId }: ExportedResource): HclBlock {
  return { type: 'import', attributes: { to: new HclExpression(`${kind}.${name}`), id: importId } };
}

function hclMembers(members: Members, secrets: SecretsAs): Readonly<Record<string, HclValue>> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, hclValue(value, secrets)]));
}

function hclValue(value: Written, secrets: SecretsAs): HclValue {
  if (value instanceof ExportedReference) return new HclExpression(`${value.kind}.${value.name}.id`);
  if (value instanceof ExportedSecret) {
    return secrets === 'inline' ? value.shown() : new HclExpression(`var.${value.name}`);
  }
  if (isList(value)) return value.map((member) => hclValue(member, secrets));
  return typeof value === 'object' ? hclMembers(value, secrets) : value;
}

function isList(value: Written): value is readonly Written[] {
  return Array.isArray(value);
}
