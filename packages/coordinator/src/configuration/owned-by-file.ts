import { setImmediate } from 'node:timers/promises';
import type { Readable } from '../store/reading-of.ts';
import { namedByFile, RESOURCE_TABLES, type ResourceTable } from '../store/resources.ts';
import type { Secrets } from '../store/secrets.ts';
import { storedIn } from './reading.ts';
import type { AnyStored } from './stored.ts';

/**
 * All resources that the declared file owns in the workspace, with secrets in clear, each kind by ascending
 * id: the present side of the file's diff. The event loop gets turns in between.
 *
 * @param source the transaction inside a change, so that the diff fits the rows that it will change;
 *   otherwise the store
 */
export function ownedByFile(source: Readable, secrets: Secrets, workspaceId: number): Promise<AnyStored[]> {
  return resourcesOf({ source, secrets, workspaceId }, 'file');
}

/**
 * Resources that a file declared until a start without one released them: another file that declares them
 * again takes them over.
 */
export function releasedByFile(
  source: Readable,
  secrets: Secrets,
  workspaceId: number,
): Promise<AnyStored[]> {
  return resourcesOf({ source, secrets, workspaceId }, null);
}

type Whose = { source: Readable; secrets: Secrets; workspaceId: number };

async function resourcesOf(whose: Whose, owner: 'file' | null): Promise<AnyStored[]> {
  const found: AnyStored[] = [];
  for (const table of RESOURCE_TABLES) await addAll(found, whose, table, owner);
  return found;
}

async function addAll(
  found: AnyStored[],
  { source, secrets, workspaceId }: Whose,
  table: ResourceTable,
  owner: 'file' | null,
): Promise<void> {
  for await (const rows of namedByFile(source, table, workspaceId, owner)) {
    found.push(...(await storedIn({ source, secrets, shown: 'open' }, table, rows)));
    await setImmediate();
  }
}
