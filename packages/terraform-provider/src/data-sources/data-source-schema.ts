import { meaning } from '@svc/shared/reference/meaning.ts';
import type { Attribute } from '@svc/shared/resources/definition.ts';
import { isMask } from '@svc/shared/resources/secrets.ts';
import { answeredAttribute } from '../planning/answered.ts';
import { valueType } from '../planning/resource-schema.ts';
import type { SchemaAttribute } from '../schema.ts';
import type { TerraformValue } from '../value.ts';

/** Attributes that a data source returns, taken from the definition of the resource. */
export type ShownAttributes = Readonly<Record<string, Attribute>>;

export function shownSchema(shown: ShownAttributes): Readonly<Record<string, SchemaAttribute>> {
  return Object.fromEntries(
    Object.entries(shown).map(([name, { value, sensitive, description }]) => [
      name,
      { type: valueType(value), setting: 'computed', sensitive, description: meaning(value, description) },
    ]),
  );
}

/**
 * The values of an answer as a data source returns them. Absent members are null, and so are secrets
 * that the token may not see. A string with a masked secret part is returned without that part.
 */
export function shownValues(
  shown: ShownAttributes,
  answered: Readonly<Record<string, unknown>>,
): Readonly<Record<string, TerraformValue>> {
  return Object.fromEntries(
    Object.entries(shown).map(([name, attribute]) => [
      name,
      answeredAttribute(attribute, seen(attribute, answered[name])),
    ]),
  );
}

function seen({ secret, value: { secretPart: part } }: Attribute, answered: unknown): unknown {
  if (secret) return isMask({ value: answered, part: undefined }) ? null : answered;
  if (part === undefined || typeof answered !== 'string' || !part.isIn(answered)) return answered;
  return isMask({ value: answered, part }) ? part.left(answered) : answered;
}
