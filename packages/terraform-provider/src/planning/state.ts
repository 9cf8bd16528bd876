import type { Attribute, Attributes, Block, ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { isObject, type TerraformObject, type TerraformValue } from '../value.ts';
import { answeredAttribute, answeredBlock } from './answered.ts';
import { unmasked, unmaskedBlock } from './masked-secrets.ts';
import { blockType, valueType } from './resource-schema.ts';
import { hasUnknown, sameValue } from './same-value.ts';
import { isKeptOut, isOfTerraformAlone } from './write-only.ts';

type Answered = Readonly<Record<string, unknown>>;

/**
 * The state after a create or update. It has the planned values, as Terraform
 * demands, and the API's values for everything that was unknown in the plan.
 */
export function stateAfterApply(
  { attributes, blocks }: ResourceDefinition,
  planned: TerraformObject,
  answered: Answered,
): TerraformObject {
  const known = (name: string, otherwise: () => TerraformValue) => {
    const value = planned[name] ?? null;
    return hasUnknown(value) ? otherwise() : value;
  };
  return {
    ...mapped(attributes, (attribute, name) =>
      known(name, () => answeredAttribute(attribute, answered[name])),
    ),
    ...mapped(blocks, (block, name) => known(name, () => answeredBlock(block, answered[name])) ?? []),
  };
}

/**
 * The state after a read. A prior value stays if the API's answer means the same, so that Terraform shows
 * no change. Otherwise the answer's value is taken. Secrets that the token may not see stay unchanged.
 */
export function stateAfterRead(
  { attributes, blocks }: ResourceDefinition,
  prior: TerraformObject,
  answered: Answered,
): TerraformObject {
  return {
    ...mapped(attributes, (attribute, name) =>
      keepsPrior(attributes, name, prior)
        ? (prior[name] ?? null)
        : keptAttribute(attribute, prior[name] ?? null, answeredAttribute(attribute, answered[name])),
    ),
    ...mapped(blocks, (block, name) =>
      keptBlock(block, prior[name] ?? [], answeredBlock(block, answered[name])),
    ),
  };
}

/**
 * Whether the prior value stays, either because the API does not know
 * the attribute, or because the secret must not be in the state.
 */
function keepsPrior(attributes: Attributes, name: string, prior: TerraformObject | undefined): boolean {
  return (
    isOfTerraformAlone(attributes, name) || (attributes[name]?.sensitive === true && isKeptOut(prior, name))
  );
}

function keptAttribute(attribute: Attribute, prior: TerraformValue, read: TerraformValue): TerraformValue {
  if (attribute.presence === 'computed') return read;
  const open = unmasked(attribute, prior, read);
  const type = valueType(attribute.value);
  if (sameValue(type, prior, open)) return prior;
  return prior !== null && sameValue(type, normalized(attribute, prior), open) ? prior : open;
}

/** The value in the API's form: sets in the API's order, null for an empty set of regions. */
function normalized(attribute: Attribute, value: TerraformValue): TerraformValue {
  const parsed = attribute.value.schema.safeParse(value);
  return parsed.success ? answeredAttribute(attribute, parsed.data) : value;
}

/**
 * Pairs the blocks of the prior state and of the answer by
 * their index. The result has as many blocks as the answer.
 */
function keptBlock(block: Block, prior: TerraformValue, read: readonly TerraformObject[]): TerraformValue {
  const before = Array.isArray(prior) ? prior.filter(isObject) : [];
  const kept = unmaskedBlock(block, before, read).map((member, index) =>
    mapped(block.attributes, (attribute, name) =>
      keepsPrior(block.attributes, name, before[index])
        ? (before[index]?.[name] ?? null)
        : keptAttribute(attribute, before[index]?.[name] ?? null, member[name] ?? null),
    ),
  );
  return sameValue(blockType(block), prior, kept) ? prior : kept;
}

function mapped<T>(
  members: Readonly<Record<string, T>>,
  change: (member: T, name: string) => TerraformValue,
): TerraformObject {
  return Object.fromEntries(Object.entries(members).map(([name, member]) => [name, change(member, name)]));
}
