import type { ResourceDefinition } from '@svc/shared/resources/definition.ts';
import { DEFINITIONS, isResourceKind, type ResourceKind } from '@svc/shared/resources/registry.ts';
import { REFERENCE } from '@svc/shared/resources/texts.ts';
import { sortedIds } from '@svc/shared/resources/values.ts';
import { nearest } from '@svc/shared/text/nearest.ts';
import type { Address } from './declaration.ts';

/** The path of a value in the attributes of a resource. */
export type Path = readonly (string | number)[];

export type FoundReference = { readonly path: Path; readonly to: Address };

/** Returns the address in a reference (`${svc_http_monitor.api.id}`); null: the value is no reference. */
export function referenceIn(text: unknown): Address | null {
  const match = typeof text === 'string' ? REFERENCE.exec(text) : null;
  return match === null ? null : `${match[1]}.${match[2]}`;
}

/**
 * Returns the attributes of a kind that contain ids, each with the kinds that the ids
 * may belong to. A kind refers only to kinds that precede it in `DEFINITIONS`, so no
 * references form a cycle, and the order of `DEFINITIONS` is the order of dependency.
 */
function idAttributes(kind: ResourceKind): [name: string, kinds: readonly string[]][] {
  const definition: ResourceDefinition = DEFINITIONS[kind];
  return Object.entries(definition.attributes).flatMap(([name, { value }]) =>
    value.references === undefined ? [] : [[name, value.references] satisfies [string, readonly string[]]],
  );
}

const ID_ATTRIBUTES = Object.fromEntries(
  Object.keys(DEFINITIONS).map((kind) => [kind, idAttributes(kind as ResourceKind)]),
) as Readonly<Record<ResourceKind, ReturnType<typeof idAttributes>>>;

/** Finds all references in the attributes of a resource. The attributes need not be normalized. */
export function referencesOf(
  kind: ResourceKind,
  attributes: Readonly<Record<string, unknown>>,
): FoundReference[] {
  return ID_ATTRIBUTES[kind].flatMap(([name]) => {
    const value = attributes[name];
    const members: [Path, unknown][] = Array.isArray(value)
      ? value.map((member, index) => [[name, index], member])
      : [[[name], value]];
    return members.flatMap(([path, member]) => {
      const to = referenceIn(member);
      return to === null ? [] : [{ path, to }];
    });
  });
}

/**
 * Returns what is wrong with a reference in a resource of this kind; null: the reference is valid.
 *
 * @param declared the addresses of all entries to which the resource may refer
 */
export function referenceProblem(
  kind: ResourceKind,
  { path, to }: FoundReference,
  declared: ReadonlyMap<Address, unknown>,
): string | null {
  const [attribute] = path;
  const allowed = ID_ATTRIBUTES[kind].find(([name]) => name === attribute)?.[1] ?? [];
  const target = to.slice(0, to.indexOf('.'));
  if (!isResourceKind(target)) {
    const meant = nearest(target, Object.keys(DEFINITIONS));
    return `"${target}" is not a resource type${meant === null ? '' : `: did you mean "${meant}"?`}`;
  }
  if (!allowed.includes(target)) return `takes the id of a ${allowed.join(', ')}, not of a ${target}`;
  if (declared.has(to)) return null;
  const meant = nearest(
    to,
    [...declared.keys()].filter((address) => address.startsWith(`${target}.`)),
  );
  return `${to} is not declared${meant === null ? '' : `: did you mean ${meant}?`}`;
}

/** Returns the message about a reference in an attribute that accepts no references. */
export function misplacedReference(kind: ResourceKind): string {
  const names = ID_ATTRIBUTES[kind].map(([name]) => name);
  return names.length === 0
    ? 'must not be a reference: no attribute of this resource takes an id'
    : `must not be a reference: only these attributes take an id: ${names.join(', ')}`;
}

/**
 * Replaces every reference in the attributes by the id of its entry, and sorts lists of ids.
 *
 * @param idOf returns the id of the entry at an address. It is called for every reference in the attributes
 */
export function resolveReferences<T extends object>(
  kind: ResourceKind,
  attributes: T,
  idOf: (address: Address) => string,
): T {
  const resolved = { ...attributes } as Record<string, unknown>;
  const id = (value: unknown) => {
    const to = referenceIn(value);
    return to === null ? value : idOf(to);
  };
  for (const [name] of ID_ATTRIBUTES[kind]) {
    const value = resolved[name];
    resolved[name] = Array.isArray(value) ? sortedIds(value.map((member) => String(id(member)))) : id(value);
  }
  return resolved as T;
}
