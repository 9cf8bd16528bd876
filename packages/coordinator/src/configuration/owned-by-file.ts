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
export function ownedByFile(
  db: Kysely<Database>,
  secrets: Secrets,
  workspaceId: number,
): Promise<AnyStored[]> {
  return resourcesOf((table) => rowsOf(db, table, workspaceId, 'file'), db, secrets);
}

/** What a file declared until a start without one set it free: another file that declares it again takes it over. */
export function releasedByFile(
  db: Kysely<Database>,
  secrets: Secrets,
  workspaceId: number,
): Promise<AnyStored[]> {
  return resourcesOf((table) => rowsOf(db, table, workspaceId, null), db, secrets);
}

async function resourcesOf(
  rows: <T extends ResourceTable>(table: T) => AsyncGenerator<Row<T>>,
  db: Kysely<Database>,
  secrets: Secrets,
): Promise<AnyStored[]> {
  const found: AnyStored[] = [];
  for await (const row of rows('monitors')) found.push(storedMonitor(secrets, row, 'open'));
  for await (const row of rows('notifications')) {
    const links = await linkedMonitorIds(db, [row.id]);
    found.push(storedNotification(secrets, row, links.get(row.id) ?? [], 'open'));
  }
  for await (const row of rows('status_pages')) found.push(storedPage(secrets, row, 'open'));
  for await (const row of rows('component_groups')) found.push(storedGroup(row));
  for await (const row of rows('components')) found.push(storedComponent(row));
  return found;
}

/** Rows that the file named, by ascending id. @param owner null: no longer its own */
async function* rowsOf<T extends ResourceTable>(
  db: Kysely<Database>,
  table: T,
  workspaceId: number,
  owner: 'file' | null,
): AsyncGenerator<Row<T>> {
  for (let after = 0; ; ) {
    const rows = await db
      .selectFrom<ResourceTable>(table)
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where('owner', 'is', owner)
      .where('local_name', 'is not', null)
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
