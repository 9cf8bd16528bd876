import { setImmediate } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { Database } from '../store/schema.ts';
import type { Secrets } from '../store/secrets.ts';
import type { ResourceTable } from './kinds.ts';
import { linkedMonitorIds } from './links.ts';
import type { Row } from './rows.ts';
import {
  type AnyStored,
  storedComponent,
  storedGroup,
  storedMonitor,
  storedNotification,
  storedPage,
} from './stored.ts';

/** Rows that are fetched, and opened without a turn of the event loop, at a time: some 2 ms. */
const ROWS_PER_TURN = 100;

/**
 * Everything that the declared file owns in the workspace, secrets in clear, each kind by ascending id:
 * the present side of the file's diff. The event loop gets turns in between.
 *
 * @param db inside a change its transaction's, so that the diff fits what it will change; else `store.read`
 */
export async function ownedByFile(
  db: Kysely<Database>,
  secrets: Secrets,
  workspaceId: number,
): Promise<AnyStored[]> {
  const owned: AnyStored[] = [];
  for await (const row of ownedRows(db, 'monitors', workspaceId)) {
    owned.push(storedMonitor(secrets, row, 'open'));
  }
  for await (const row of ownedRows(db, 'notifications', workspaceId)) {
    const links = await linkedMonitorIds(db, [row.id]);
    owned.push(storedNotification(secrets, row, links.get(row.id) ?? [], 'open'));
  }
  for await (const row of ownedRows(db, 'status_pages', workspaceId)) {
    owned.push(storedPage(secrets, row, 'open'));
  }
  for await (const row of ownedRows(db, 'component_groups', workspaceId)) owned.push(storedGroup(row));
  for await (const row of ownedRows(db, 'components', workspaceId)) owned.push(storedComponent(row));
  return owned;
}

async function* ownedRows<T extends ResourceTable>(
  db: Kysely<Database>,
  table: T,
  workspaceId: number,
): AsyncGenerator<Row<T>> {
  for (let after = 0; ; ) {
    const rows = await db
      .selectFrom<ResourceTable>(table)
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where('owner', '=', 'file')
      .where('id', '>', after)
      .orderBy('id')
      .limit(ROWS_PER_TURN)
      .execute();
    yield* rows as unknown as Row<T>[];
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.id;
    await setImmediate();
  }
}
