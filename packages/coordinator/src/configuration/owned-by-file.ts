import { setImmediate } from 'node:timers/promises';
import { linkedMonitors } from '../store/links.ts';
import type { Readable } from '../store/reading-of.ts';
import { namedByFile, type ResourceTable, type Row } from '../store/resources.ts';
import type { Secrets } from '../store/secrets.ts';
import {
  type AnyStored,
  storedComponent,
  storedGroup,
  storedMonitor,
  storedNotification,
  storedPage,
} from './stored.ts';

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

async function resourcesOf(
  { source, secrets, workspaceId }: { source: Readable; secrets: Secrets; workspaceId: number },
  owner: 'file' | null,
): Promise<AnyStored[]> {
  const found: AnyStored[] = [];
  const eachPage = async <T extends ResourceTable>(
    table: T,
    open: (rows: readonly Row<T>[]) => AnyStored[] | Promise<AnyStored[]>,
  ) => {
    for await (const rows of namedByFile(source, table, workspaceId, owner)) {
      found.push(...(await open(rows)));
      await setImmediate();
    }
  };
  await eachPage('monitors', (rows) => rows.map((row) => storedMonitor(secrets, row, 'open')));
  await eachPage('notifications', async (rows) => {
    const ids = rows.map(({ id }) => id);
    const links = await linkedMonitors(source, ids);
    return rows.map((row) => storedNotification(secrets, row, links.get(row.id) ?? [], 'open'));
  });
  await eachPage('status_pages', (rows) => rows.map((row) => storedPage(secrets, row, 'open')));
  await eachPage('component_groups', (rows) => rows.map(storedGroup));
  await eachPage('components', (rows) => rows.map(storedComponent));
  return found;
}
