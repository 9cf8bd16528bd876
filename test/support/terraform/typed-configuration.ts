import type { Schema, SchemaAttribute, ValueType } from '@svc/terraform-provider/schema.ts';
import {
  ExactNumber,
  type TerraformObject,
  type TerraformValue,
  UNKNOWN,
} from '@svc/terraform-provider/value.ts';

/** A body in Terraform's JSON form, as the provider gets it: with all members, and values of their types. */
export function typedConfiguration(schema: Schema, body: Readonly<Record<string, unknown>>): TerraformObject {
  const blocks = Object.entries(schema.blocks).map(([name, block]) => {
    const given = body[name] ?? [];
    const members = Array.isArray(given) ? (given as Record<string, unknown>[]) : null;
    return [name, members?.map((member) => typedMembers(block.attributes, member)) ?? UNKNOWN];
  });
  return { ...typedMembers(schema.attributes, body), ...Object.fromEntries(blocks) };
}

function typedMembers(
  attributes: Readonly<Record<string, SchemaAttribute>>,
  body: Readonly<Record<string, unknown>>,
): TerraformObject {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, { type }]) => [name, typed(type, body[name] ?? null)]),
  );
}

/**
 * Converts a value to its type. Numbers may be given as texts, as
 * in Terraform. A number that a double cannot hold stays exact.
 */
function typed(type: ValueType, value: unknown): TerraformValue {
  if (type !== 'number' || value === null || value === UNKNOWN) return value as TerraformValue;
  const number = Number(value);
  const isHeld =
    Number.isSafeInteger(number) || (!Number.isInteger(number) && String(number) === String(value));
  return isHeld ? number : new ExactNumber(String(value));
}
