import type { Attributes } from './definition.ts';
import { DEFINITIONS, type ResourceKind } from './registry.ts';

/**
 * Where the secrets of a kind of resource are, as users write it; `*` stands for every member of a
 * list or mapping: `['headers', '*', 'value']`.
 */
export function secretPaths(kind: ResourceKind): readonly (readonly string[])[] {
  return SECRET_PATHS[kind];
}

/** A secret of a resource, and where it is. */
export type SecretPlace = {
  readonly path: readonly (string | number)[];
  /** Whether the last step of the path is a key of the user's, and not an attribute. */
  readonly isMember: boolean;
  readonly value: unknown;
};

/**
 * The secrets that are set in a resource as users write it, which need not be valid. A single block may
 * be a list of one, as Terraform has it.
 */
export function secretsIn(kind: ResourceKind, resource: unknown): SecretPlace[] {
  return SECRET_PATHS[kind].flatMap((pattern) => {
    const isMember = pattern.at(-1) === '*';
    return placesIn(resource, pattern).map((place) => ({ ...place, isMember }));
  });
}

function placesIn(value: unknown, pattern: readonly string[]): Omit<SecretPlace, 'isMember'>[] {
  const [step, ...rest] = pattern;
  if (value === null || value === undefined) return [];
  if (step === undefined) return [{ path: [], value }];
  if (typeof value !== 'object') return [];
  const below = (at: string | number, member: unknown, inner: readonly string[]) =>
    placesIn(member, inner).map((place) => ({ ...place, path: [at, ...place.path] }));
  if (Array.isArray(value)) {
    const inner = step === '*' ? rest : pattern;
    return value.flatMap((member, index) => below(index, member, inner));
  }
  return Object.entries(value)
    .filter(([name]) => step === '*' || step === name)
    .flatMap(([name, member]) => below(name, member, rest));
}

/** What a secret is shown as to those who may not read it. */
export const MASK = '********';

/** A copy of a resource as users write it (blocks under their names) with its secrets masked; null stays null. */
export function masked<T extends object>(kind: ResourceKind, resource: T): T {
  return SECRET_PATHS[kind].reduce<unknown>(maskAt, resource) as T;
}

function maskAt(value: unknown, path: readonly string[]): unknown {
  const [step, ...rest] = path;
  if (value === null || value === undefined) return value;
  if (step === undefined) return MASK;
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map((member) => maskAt(member, rest));
  const entries = Object.entries(value).map(([name, member]) => [
    name,
    step === '*' || name === step ? maskAt(member, rest) : member,
  ]);
  return Object.fromEntries(entries);
}

const SECRET_PATHS = Object.fromEntries(
  Object.entries(DEFINITIONS).map(([kind, definition]) => [
    kind,
    [
      ...pathsIn(definition.attributes),
      ...Object.entries(definition.blocks).flatMap(([name, block]) =>
        pathsIn(block.attributes).map((path) => [name, ...(block.nesting === 'list' ? ['*'] : []), ...path]),
      ),
    ],
  ]),
) as unknown as Readonly<Record<ResourceKind, readonly (readonly string[])[]>>;

function pathsIn(attributes: Attributes): string[][] {
  return Object.entries(attributes).flatMap(([name, { secret, value }]) => {
    if (value.attributes !== undefined) return pathsIn(value.attributes).map((path) => [name, '*', ...path]);
    if (!secret) return [];
    return [value.type === 'map' ? [name, '*'] : [name]];
  });
}
