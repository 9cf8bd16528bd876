import { DEFINITIONS, isResourceKind, RESOURCE_KINDS } from '@svc/shared/resources/registry.ts';
import { existingResources, type ResourceTable } from '../store/declaration/resources.ts';
import { InvalidReference } from './errors.ts';
import { NOUN_OF, type ResourceKind, TABLE_OF } from './kinds/kinds.ts';
import type { ChangeScope } from './scope.ts';

type Reference = { readonly name: string; readonly table: ResourceTable };

/** The attributes of each kind that name other resources, as its definition says. */
const REFERENCES: ReadonlyMap<ResourceKind, readonly Reference[]> = new Map(
  RESOURCE_KINDS.map((kind) => [kind, referencesOf(kind)]),
);

function referencesOf(kind: ResourceKind): Reference[] {
  return Object.entries(DEFINITIONS[kind].attributes).flatMap(([name, { value }]) => {
    // All kinds that one attribute names lie in one table.
    const [first] = value.references ?? [];
    return first !== undefined && isResourceKind(first) ? [{ name, table: TABLE_OF[first] }] : [];
  });
}

/** The ids of each table that the workspace has, of those that some attributes name. */
export type Existing = ReadonlyMap<ResourceTable, ReadonlySet<number>>;

type Referring = { readonly kind: ResourceKind; readonly attributes: object };

/** Looks up everything that the attributes of these resources name, as this transaction sees it. */
export async function existingReferences(
  scope: ChangeScope,
  resources: readonly Referring[],
): Promise<Existing> {
  const named = new Map<ResourceTable, Set<number>>();
  for (const resource of resources) {
    for (const { table, ids } of namedBy(resource)) {
      const known = named.get(table) ?? new Set<number>();
      named.set(table, known);
      for (const id of ids) known.add(Number(id));
    }
    await scope.breathe();
  }
  const existing = new Map<ResourceTable, ReadonlySet<number>>();
  for (const [table, ids] of named) {
    existing.set(table, await existingResources(scope.tx, table, scope.context.workspaceId, [...ids]));
    await scope.breathe();
  }
  return existing;
}

/** @throws InvalidReference for the first that does not exist */
export function refuseMissing(existing: Existing, resource: Referring): void {
  for (const { name, table, ids, isList } of namedBy(resource)) {
    const missing = ids.findIndex((id) => existing.get(table)?.has(Number(id)) !== true);
    if (missing === -1) continue;
    const path = isList ? [name, missing] : [name];
    throw new InvalidReference(`there is no ${NOUN_OF[table]} ${String(ids[missing])}`, path);
  }
}

type Named = Reference & { readonly ids: readonly unknown[]; readonly isList: boolean };

function namedBy({ kind, attributes }: Referring): Named[] {
  const references = REFERENCES.get(kind) ?? [];
  if (references.length === 0) return [];
  const members = new Map<string, unknown>(Object.entries(attributes));
  return references.map(({ name, table }) => {
    const named = members.get(name);
    return { name, table, ids: [named ?? []].flat(), isList: Array.isArray(named) };
  });
}
