import type { AttributePath, PathStep } from './provider.ts';
import type { Schema, SchemaAttribute, ValueType } from './schema.ts';

/**
 * Converts a JSON pointer (RFC 6901) into a request's body to the path of an attribute.
 * `/webhook/endpoint` becomes `webhook[0].endpoint`, because the single block is a mapping in the API
 * and a list in Terraform. The result is null if a configuration cannot set the value at the pointer.
 * A path to a member of a set ends at the set, because such members have no index in Terraform.
 */
export function pathOfPointer({ attributes, blocks }: Schema, pointer: string): AttributePath | null {
  const [name, ...rest] = pointer.split('/').slice(1).map(unescaped);
  if (name === undefined) return null;
  const attribute = own(attributes, name);
  if (attribute !== undefined) return settable(attribute) ? [name, ...within(attribute.type, rest)] : null;
  const block = own(blocks, name);
  if (block === undefined) return null;
  const [index, inBlock] = /^\d+$/.test(rest[0] ?? '') ? [Number(rest[0]), rest.slice(1)] : [0, rest];
  const [member, ...deeper] = inBlock;
  const inner = member === undefined ? undefined : own(block.attributes, member);
  return inner === undefined || member === undefined
    ? [name, index]
    : [name, index, member, ...within(inner.type, deeper)];
}

function settable({ setting }: SchemaAttribute): boolean {
  return setting !== 'computed';
}

function within(type: ValueType, steps: readonly string[]): readonly PathStep[] {
  const [step, ...rest] = steps;
  if (step === undefined || typeof type === 'string') return [];
  switch (type[0]) {
    case 'set':
      return [];
    case 'list':
      return /^\d+$/.test(step) ? [Number(step), ...within(type[1], rest)] : [];
    case 'map':
      return [{ key: step }, ...within(type[1], rest)];
    case 'object': {
      const member = own(type[1], step);
      return member === undefined ? [] : [step, ...within(member, rest)];
    }
    default:
      return type satisfies never;
  }
}

/** The member with this name. Names come from the API, so `__proto__` must not match. */
function own<T>(members: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined;
}

function unescaped(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}
