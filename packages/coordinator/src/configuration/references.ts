import { DEFINITIONS, isResourceKind, RESOURCE_KINDS } from '@svc/shared/resources/registry.ts';
import { existingResources, type ResourceTable } from '../store/resources.ts';
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

/** @throws InvalidReference for the first that the workspace does not have, as this transaction sees it */
export async function checkReferences(
  scope: ChangeScope,
  kind: ResourceKind,
  attributes: object,
): Promise<void> {
  const members = new Map<string, unknown>(Object.entries(attributes));
  for (const { name, table } of REFERENCES.get(kind) ?? []) {
    const named = members.get(name);
    const ids = [named ?? []].flat();
    const found = await existingResources(scope.tx, table, scope.context.workspaceId, ids.map(Number));
    await scope.breathe();
    const missing = ids.findIndex((id) => !found.has(Number(id)));
    if (missing === -1) continue;
    const path = Array.isArray(named) ? [name, missing] : [name];
    throw new InvalidReference(`there is no ${NOUN_OF[table]} ${String(ids[missing])}`, path);
  }
}
