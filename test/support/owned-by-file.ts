import { storedIn } from '@svc/coordinator/declaration/reading.ts';
import type { AnyStored } from '@svc/coordinator/declaration/stored.ts';
import {
  findResources,
  namedByFile,
  RESOURCE_TABLES,
  type ResourceTable,
} from '@svc/coordinator/store/declaration/resources.ts';
import type { Secrets } from '@svc/coordinator/store/declaration/secrets.ts';
import type { Store } from '@svc/coordinator/store/store.ts';

/**
 * All resources that the declared file owns in the workspace,
 * with secrets in clear, each table by ascending id.
 */
export async function ownedByFile(store: Store, secrets: Secrets, workspaceId: number): Promise<AnyStored[]> {
  const found: AnyStored[] = [];
  for (const table of RESOURCE_TABLES) found.push(...(await ownedIn(store, secrets, workspaceId, table)));
  return found;
}

async function ownedIn(
  store: Store,
  secrets: Secrets,
  workspaceId: number,
  table: ResourceTable,
): Promise<AnyStored[]> {
  const ids: number[] = [];
  for await (const rows of namedByFile(store, table, workspaceId)) {
    ids.push(...rows.flatMap(({ id, owner }) => (owner === 'file' ? [id] : [])));
  }
  const rows = await findResources(store, table, workspaceId, ids);
  const stored = await storedIn({ source: store, secrets, shown: 'open' }, table, rows);
  return stored.toSorted((a, b) => a.id - b.id);
}
