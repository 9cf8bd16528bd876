import {
  findResources,
  namedByFile,
  RESOURCE_TABLES,
  type ResourceTable,
} from '../store/declaration/resources.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Readable } from '../store/reading-of.ts';
import { type ResourceKind, TABLE_OF } from './kinds/kinds.ts';
import { KINDS } from './kinds/registry.ts';
import { storedIn } from './reading.ts';

/** A stored resource that a declared file declares, or declared before. */
export type NamedResource = {
  readonly kind: ResourceKind;
  /**
   * Null: a start without a file released it. It is taken over when it is declared again, and otherwise left
   * alone.
   */
  readonly owner: 'file' | null;
  readonly localName: string;
  readonly id: number;
};

/** Normalized attributes of resources, with ids as text and secrets in clear. Resources that are gone are missing. */
export type NamedAttributes = ReadonlyMap<NamedResource, object>;

/**
 * All resources of the workspace that a declared file named, each table by ascending id: the present side of the
 * file's diff, without attributes, which would take 66 MiB for a hundred thousand monitors.
 */
export async function resourcesNamedByFile(source: Readable, workspaceId: number): Promise<NamedResource[]> {
  const found: NamedResource[] = [];
  for (const table of RESOURCE_TABLES) await addAll(found, source, table, workspaceId);
  return found;
}

async function addAll<T extends ResourceTable>(
  found: NamedResource[],
  source: Readable,
  table: T,
  workspaceId: number,
): Promise<void> {
  for await (const rows of namedByFile(source, table, workspaceId)) {
    for (const row of rows) {
      const { id, owner, local_name: localName } = row;
      if (localName === null) continue;
      found.push({ kind: KINDS[table].kindOf(row), owner: owner === 'file' ? 'file' : null, localName, id });
    }
  }
}

/**
 * The attributes of these resources, all of one table. The event loop gets turns in between.
 *
 * @param source the transaction inside a change, so that the diff fits the rows that it will change;
 *   otherwise the store
 */
export async function attributesOfNamed(
  source: Readable,
  secrets: Secrets,
  workspaceId: number,
  resources: readonly NamedResource[],
): Promise<NamedAttributes> {
  const [first] = resources;
  if (first === undefined) return new Map();
  const table: ResourceTable = TABLE_OF[first.kind];
  const byId = new Map(resources.map((resource) => [resource.id, resource]));
  const rows = await findResources(source, table, workspaceId, [...byId.keys()]);
  const stored = await storedIn({ source, secrets, shown: 'open' }, table, rows);
  return new Map(
    stored.flatMap(({ id, attributes }) => {
      const resource = byId.get(id);
      return resource === undefined ? [] : [[resource, attributes]];
    }),
  );
}
