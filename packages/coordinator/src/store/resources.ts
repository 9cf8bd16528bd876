import type { Insertable, Selectable, Updateable } from 'kysely';
import { type Readable, readingOf } from './reading-of.ts';
import type { Database } from './schema.ts';
import type { Transaction } from './store.ts';

/** Tables that keep declared resources. */
export type ResourceTable = 'monitors' | 'notifications' | 'status_pages' | 'component_groups' | 'components';

export const RESOURCE_TABLES: readonly ResourceTable[] = [
  'monitors',
  'notifications',
  'status_pages',
  'component_groups',
  'components',
];

export type Row<T extends ResourceTable> = Selectable<Database[T]>;
export type NewRow<T extends ResourceTable> = Insertable<Database[T]>;
export type RowChange<T extends ResourceTable> = Updateable<Database[T]>;

/** The columns of a row that say who may write it. */
export type OwnedRow = Pick<Row<ResourceTable>, 'id' | 'owner' | 'local_name'>;

/** Rows in a page of {@link namedByFile}: opening their secrets takes some 2 ms. */
const PAGE_ROWS = 100;

/**
 * Finds a row in any table of declared resources. Undefined: it does not exist, or it belongs to another
 * workspace.
 */
export async function findResource<T extends ResourceTable>(
  source: Readable,
  table: T,
  workspaceId: number,
  id: number,
): Promise<Row<T> | undefined> {
  const row = await readingOf(source)
    .selectFrom<ResourceTable>(table)
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  return row as Row<T> | undefined;
}

export async function hasResource(
  source: Readable,
  table: ResourceTable,
  workspaceId: number,
  id: number,
): Promise<boolean> {
  const row = await readingOf(source)
    .selectFrom(table)
    .select('id')
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  return row !== undefined;
}

/** Answers the new id. */
export async function insertResource<T extends ResourceTable>(
  { db }: Transaction,
  table: T,
  row: NewRow<T>,
): Promise<number> {
  const { id } = await db
    .insertInto<ResourceTable>(table)
    // The compiler does not know that the columns fit when the table is any of several.
    .values(row as NewRow<ResourceTable>)
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

export async function updateResource<T extends ResourceTable>(
  { db }: Transaction,
  table: T,
  id: number,
  change: RowChange<T>,
): Promise<void> {
  await db
    .updateTable(table as ResourceTable)
    .set(change as RowChange<ResourceTable>)
    .where('id', '=', id)
    .execute();
}

/**
 * Removes a row. Rows that refer to it must be gone, except links, states and deliveries: the database
 * removes those with it.
 */
export async function removeResource({ db }: Transaction, table: ResourceTable, id: number): Promise<void> {
  await db.deleteFrom(table).where('id', '=', id).execute();
}

/**
 * Yields rows of the workspace that a declared file named, by ascending id, a page at a time.
 *
 * @param owner null: those that a start without a file released
 */
export async function* namedByFile<T extends ResourceTable>(
  source: Readable,
  table: T,
  workspaceId: number,
  owner: 'file' | null,
): AsyncGenerator<Row<T>[]> {
  for (let after = 0; ; ) {
    const rows = await readingOf(source)
      .selectFrom<ResourceTable>(table)
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where('owner', 'is', owner)
      .where('local_name', 'is not', null)
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE_ROWS)
      .execute();
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows as Row<T>[];
    after = last.id;
  }
}

/**
 * Releases all rows of the declared file, in all workspaces; local names stay. Answers how many rows the file
 * owned.
 */
export async function releaseFromFile({ db }: Transaction): Promise<number> {
  let released = 0;
  for (const table of RESOURCE_TABLES) {
    const { numUpdatedRows } = await db
      .updateTable(table)
      .set({ owner: null })
      .where('owner', '=', 'file')
      .executeTakeFirstOrThrow();
    released += Number(numUpdatedRows);
  }
  return released;
}
