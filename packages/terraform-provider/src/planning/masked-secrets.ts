import type { Attribute, Attributes, Block, SecretPart } from '@svc/shared/resources/definition.ts';
import { isMask, maskOf } from '@svc/shared/resources/secrets.ts';
import { MASK } from '@svc/shared/secret.ts';
import { isObject, type TerraformObject, type TerraformValue } from '../value.ts';
import { valueType } from './resource-schema.ts';
import { sameValue } from './same-value.ts';

/**
 * Restores secrets in an answer to a token of scope read. A masked secret gets its
 * value from the prior state. After an import the prior state has no value, and
 * the secret becomes null. A partly masked string becomes the prior string if the
 * parts that are not masked are equal in both; otherwise the string stays masked.
 */
export function unmasked(
  { secret, value }: Attribute,
  prior: TerraformValue,
  read: TerraformValue,
): TerraformValue {
  if (value.attributes !== undefined) {
    return Array.isArray(read) ? unmaskedMembers(value.attributes, objectsOf(prior), objectsOf(read)) : read;
  }
  if (!secret && value.secretPart !== undefined) return withPriorPart(value.secretPart, prior, read);
  if (!secret) return read;
  if (read === null || !isObject(read)) return read === MASK ? prior : read;
  const before = prior !== null && isObject(prior) ? prior : {};
  const members = Object.entries(read).map(([key, member]) => [
    key,
    member === MASK ? (before[key] ?? null) : member,
  ]);
  return Object.fromEntries(members);
}

function withPriorPart(part: SecretPart, prior: TerraformValue, read: TerraformValue): TerraformValue {
  if (typeof prior !== 'string' || typeof read !== 'string') return read;
  if (!part.isIn(read) || !part.isIn(prior) || !isMask({ value: read, part })) return read;
  return maskOf({ value: prior, part }) === read ? prior : read;
}

export function unmaskedBlock(
  { nesting, attributes }: Block,
  prior: readonly TerraformObject[],
  read: readonly TerraformObject[],
): readonly TerraformObject[] {
  return nesting === 'list'
    ? unmaskedMembers(attributes, prior, read)
    : read.map((member) => unmaskedMember(attributes, prior[0], member));
}

/**
 * Restores the secrets of each member from the prior member at the same index. If these two members differ in
 * more than their secrets, the secrets come from the first prior member that agrees with the read member in
 * everything else. If there is no such member, the secrets become null.
 */
function unmaskedMembers(
  attributes: Attributes,
  prior: readonly TerraformObject[],
  read: readonly TerraformObject[],
): readonly TerraformObject[] {
  return read.map((member, index) => {
    const isCounterpart = (candidate: TerraformObject | undefined) =>
      candidate !== undefined && agreeInTheOpen(attributes, candidate, member);
    const counterpart = isCounterpart(prior[index]) ? prior[index] : prior.find(isCounterpart);
    return unmaskedMember(attributes, counterpart, member);
  });
}

function unmaskedMember(
  attributes: Attributes,
  prior: TerraformObject | undefined,
  read: TerraformObject,
): TerraformObject {
  const members = Object.entries(attributes).map(([name, attribute]) => [
    name,
    unmasked(attribute, prior?.[name] ?? null, read[name] ?? null),
  ]);
  return Object.fromEntries(members);
}

function agreeInTheOpen(attributes: Attributes, one: TerraformObject, other: TerraformObject): boolean {
  return Object.entries(attributes)
    .filter(([, { secret }]) => !secret)
    .every(([name, { value }]) => sameValue(valueType(value), one[name] ?? null, other[name] ?? null));
}

function objectsOf(value: TerraformValue): readonly TerraformObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}
