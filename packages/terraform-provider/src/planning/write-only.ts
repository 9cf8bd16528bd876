import type { Attribute, Attributes, Block, ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { number } from '@svc/shared/resources/values.ts';
import type { AttributePath, Diagnostic } from '../provider.ts';
import { isObject, type TerraformObject, type TerraformValue } from '../value.ts';
import { diagnosticOf } from './diagnostic-text.ts';

/**
 * Write-only secrets, which Terraform does not store. Each sensitive attribute `x` has two companions:
 * `x_wo`, which exists in the configuration only, and `x_wo_version`. A change of `x_wo_version` says that
 * the secret has changed (decision 0081).
 *
 * A resource therefore has two forms. Terraform's form has all three attributes, for the schema, plans and
 * states. The definition's form has only `x`, with the value of `x` or `x_wo`, for validation and for the
 * API.
 */

const SECRET = '_wo';
const VERSION = '_wo_version';

const version = number({ min: 1, max: 2_147_483_647 });

/** Converts a definition to Terraform's form. */
export function terraformDefinition(definition: ResourceDefinition): ResourceDefinition {
  const blocks = Object.entries(definition.blocks).map(([name, block]): [string, Block] => [
    name,
    { ...block, attributes: terraformAttributes(block.attributes) },
  ]);
  return {
    ...definition,
    attributes: terraformAttributes(definition.attributes),
    blocks: Object.fromEntries(blocks),
  };
}

function terraformAttributes(attributes: Attributes): Attributes {
  const entries = Object.entries(attributes).flatMap(([name, attribute]): [string, Attribute][] =>
    attribute.sensitive ? threeOf(name, attribute) : [[name, attribute]],
  );
  return Object.fromEntries(entries);
}

function threeOf(name: string, attribute: Attribute): [string, Attribute][] {
  const { presence, description } = attribute;
  const other = `\`${name}${SECRET}\``;
  const needed = presence === 'required' ? `It is required, unless ${other} is given. ` : '';
  return [
    [
      name,
      {
        ...attribute,
        presence: presence === 'required' ? 'optional' : presence,
        description: `${description} ${needed}The state contains it, but not ${other}.`,
      },
    ],
    [
      `${name}${SECRET}`,
      {
        ...attribute,
        presence: 'optional',
        description: `Use it instead of \`${name}\`. It is sent to the service, and neither the plan nor the state contains it. It needs Terraform 1.11 and \`${name}${VERSION}\`.`,
      },
    ],
    [
      `${name}${VERSION}`,
      {
        ...attribute,
        value: version,
        presence: 'optional',
        sensitive: false,
        secret: false,
        description: `A number that you change when ${other} changes, so that the provider sends the secret again.`,
      },
    ],
  ];
}

/** Whether an attribute of Terraform's form is write-only. */
export function isWriteOnly(attributes: Attributes, name: string): boolean {
  return name.endsWith(SECRET) && attributes[name.slice(0, -SECRET.length)]?.sensitive === true;
}

/**
 * Whether the attribute exists only in Terraform's form, that is `x_wo` or `x_wo_version`. The API does not
 * know such an attribute.
 */
export function isOfTerraformAlone(attributes: Attributes, name: string): boolean {
  const isVersion = name.endsWith(VERSION) && isWriteOnly(attributes, name.slice(0, -'_version'.length));
  return isVersion || isWriteOnly(attributes, name);
}

/**
 * Whether the secret `name` was given as write-only, which the state shows by a `_wo_version`. The API's
 * answer must then not put the secret into the state.
 */
export function isKeptOut(state: TerraformObject | undefined, name: string): boolean {
  return (state?.[`${name}${VERSION}`] ?? null) !== null;
}

/**
 * Converts a resource from Terraform's form to the definition's form.
 *
 * @param secrets the configuration with the write-only secrets; in a plan they are null
 */
export function definitionForm(
  { attributes, blocks }: ResourceDefinition,
  values: TerraformObject,
  secrets: TerraformObject = values,
): TerraformObject {
  const folded = Object.entries(blocks).map(([name, block]): [string, TerraformValue] => {
    const members: TerraformValue = values[name] ?? [];
    const given: TerraformValue = secrets[name] ?? [];
    if (!Array.isArray(members)) return [name, members];
    return [
      name,
      members.map((member, index) => {
        const secret = Array.isArray(given) ? given[index] : undefined;
        return isObject(member)
          ? foldedAttributes(block.attributes, member, secret !== undefined && isObject(secret) ? secret : {})
          : member;
      }),
    ];
  });
  return { ...foldedAttributes(attributes, values, secrets), ...Object.fromEntries(folded) };
}

function foldedAttributes(
  attributes: Attributes,
  values: TerraformObject,
  secrets: TerraformObject,
): TerraformObject {
  const entries = Object.entries(attributes).map(([name, { sensitive }]): [string, TerraformValue] => {
    const value = values[name] ?? null;
    return [name, sensitive ? (value ?? secrets[`${name}${SECRET}`] ?? null) : value];
  });
  return Object.fromEntries(entries);
}

/** Converts a path of the definition's form to the path of Terraform's form. */
export function terraformPath(config: TerraformObject, path: AttributePath): AttributePath {
  let value: TerraformValue | undefined = config;
  return path.map((step) => {
    const inside: TerraformValue | undefined = value;
    if (typeof step === 'number' && Array.isArray(inside)) value = inside[step];
    if (typeof step !== 'string' || inside === undefined || !isObject(inside)) return step;
    const isGiven = (inside[`${step}${SECRET}`] ?? null) !== null && (inside[step] ?? null) === null;
    value = inside[step];
    return isGiven ? `${step}${SECRET}` : step;
  });
}

/**
 * Problems with the way in which write-only secrets are given.
 *
 * @param isAllowed whether this version of Terraform supports write-only secrets: an older version would
 *   store them
 */
export function writeOnlyProblems(
  { attributes, blocks }: ResourceDefinition,
  config: TerraformObject,
  isAllowed: boolean,
): Diagnostic[] {
  const inBlocks = Object.entries(blocks).flatMap(([name, block]) => {
    const members = config[name] ?? [];
    if (!Array.isArray(members)) return [];
    return members.flatMap((member, index) =>
      isObject(member) ? pairProblems(block.attributes, member, [name, index], isAllowed) : [],
    );
  });
  return [...pairProblems(attributes, config, [], isAllowed), ...inBlocks];
}

function pairProblems(
  attributes: Attributes,
  config: TerraformObject,
  parent: AttributePath,
  isAllowed: boolean,
): Diagnostic[] {
  return Object.keys(attributes)
    .filter((name) => attributes[name]?.sensitive)
    .flatMap((name) => {
      const [secret, revision] = [`${name}${SECRET}`, `${name}${VERSION}`];
      const isGiven = (attribute: string) => (config[attribute] ?? null) !== null;
      const wrong = (attribute: string, message: string) => [
        diagnosticOf({ path: [...parent, attribute], message }),
      ];
      if (!isGiven(secret)) {
        return isGiven(revision) ? wrong(revision, `belongs to ${secret}, which is not given`) : [];
      }
      if (!isAllowed) return wrong(secret, `needs Terraform 1.11 or newer: use ${name}`);
      if (isGiven(name)) return wrong(secret, `cannot be given beside ${name}: remove one of them`);
      if (isGiven(revision)) return [];
      return wrong(
        secret,
        `needs ${revision} beside it: a number that you change with the secret, because Terraform cannot see its changes`,
      );
    });
}
