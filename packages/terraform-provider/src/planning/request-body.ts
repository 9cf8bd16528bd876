import type { Attributes, ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { ExactNumber, isObject, type TerraformObject, type TerraformValue, UNKNOWN } from '../value.ts';

/**
 * The request body for a planned resource. It contains everything that a user can set. Unset attributes are
 * null, and the block of a channel is a mapping.
 *
 * @throws TypeError for an unknown value, or a number with too many digits for JSON. Validation and the order
 *   of Terraform's steps keep such values away from this function
 */
export function requestBody(
  { attributes, blocks, constants }: ResourceDefinition,
  planned: TerraformObject,
): Record<string, unknown> {
  const blockMembers = Object.entries(blocks).flatMap(([name, block]): [string, unknown][] => {
    const configured = planned[name] ?? [];
    const members = (Array.isArray(configured) ? configured.filter(isObject) : []).map((member) =>
      membersOf(block.attributes, member, name),
    );
    if (block.nesting === 'list') return [[name, members]];
    return members.length === 0 ? [] : [[name, members[0]]];
  });
  return {
    ...constants,
    ...membersOf(attributes, planned),
    ...Object.fromEntries(blockMembers),
  };
}

function membersOf(
  attributes: Attributes,
  planned: TerraformObject,
  parent?: string,
): Record<string, unknown> {
  const members = Object.keys(attributes)
    .filter((name) => attributes[name]?.presence !== 'computed')
    .map((name) => [name, json(planned[name] ?? null, parent === undefined ? name : `${parent}.${name}`)]);
  return Object.fromEntries(members);
}

function json(value: TerraformValue, name: string): unknown {
  if (value === UNKNOWN) throw new TypeError(`${name} is unknown and cannot be sent`);
  if (value instanceof ExactNumber) throw new TypeError(`${name} has too many digits to be sent`);
  if (Array.isArray(value)) return value.map((member) => json(member, name));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, json(member, name)]));
}
