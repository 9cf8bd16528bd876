import type { Insertable, Selectable, Updateable } from 'kysely';
import { idChunks, type Readable, readingOf } from '../queries.ts';
import type { Database } from '../schema.ts';
import type { SqlValue, Transaction } from '../store.ts';

/** Tables that keep declared resources. */
export type ResourceTable = 'monitors' | 'notifications' | 'status_pages' | 'component_groups' | 'components';

export const RESOURCE_TABLES: readonly ResourceTable[] = [
  'monitors',
  'notifications',
  'status_pages',
  'component_groups',
  'components',
];

/** This is an interface, not a mapped type. With a mapped type, code for all tables would not type-check. */
interface Rows {
  monitors: Selectable<Database['monitors']>;
  notifications: Selectable<Database['notifications']>;
  status_pages: Selectable<Database['status_pages']>;
  component_groups: Selectable<Database['component_groups']>;
  components: Selectable<Database['components']>;
}

export type Row<T extends ResourceTable> = Rows[T];
export type NewRow<T extends ResourceTable> = Insertable<Database[T]>;
export type RowChange<T extends ResourceTable> = Updateable<Database[T]>;

/** The columns that say whether the declared file owns a row, and under which name. */
export type OwnedRow = Pick<Row<ResourceTable>, 'id' | 'owner' | 'local_name'>;

/** The columns that identify a row that a declared file names. For a monitor, they include its type. */
export type NamedRow<T extends ResourceTable> = Pick<Row<T>, keyof OwnedRow | ('type' & keyof Row<T>)>;

/** Number of rows in a page of {@link namedByFile}. Receiving a page takes the main thread about 1 ms. */
const PAGE_ROWS = 1_000;

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

/** The rows with these ids that belong to the workspace, in any order. */
export async function findResources<T extends ResourceTable>(
  source: Readable,
  table: T,
  workspaceId: number,
  ids: readonly number[],
): Promise<Row<T>[]> {
  const found: Row<T>[] = [];
  for (const some of idChunks(ids)) {
    const rows = await readingOf(source)
      .selectFrom<ResourceTable>(table)
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where('id', 'in', some)
      .execute();
    found.push(...(rows as Row<T>[]));
  }
  return found;
}

/** Returns which of these ids belong to existing rows of the workspace. */
export async function existingResources(
  source: Readable,
  table: ResourceTable,
  workspaceId: number,
  ids: readonly number[],
): Promise<ReadonlySet<number>> {
  const found = new Set<number>();
  for (const some of idChunks(ids)) {
    const rows = await readingOf(source)
      .selectFrom(table)
      .select('id')
      .where('workspace_id', '=', workspaceId)
      .where('id', 'in', some)
      .execute();
    for (const { id } of rows) found.add(id);
  }
  return found;
}

/** The values of these columns of a row, as parameters of a statement. */
function valuesOf(row: object, columns: readonly string[]): SqlValue[] {
  const values = new Map<string, SqlValue | undefined>(Object.entries(row));
  return columns.map((column) => values.get(column) ?? null);
}

/**
 * Inserts rows. Returns the new ids in the order of the rows.
 *
 * @param rows all with the same columns; columns that are absent get their defaults
 */
export async function insertResources<T extends ResourceTable>(
  tx: Transaction,
  table: T,
  rows: readonly NewRow<T>[],
): Promise<number[]> {
  const [first] = rows;
  if (first === undefined) return [];
  const columns = Object.keys(first);
  const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')}) RETURNING id`;
  const written = await tx.runEach(
    sql,
    rows.map((row) => valuesOf(row, columns)),
  );
  return written.map(({ id }) => id);
}

/** The new values of some columns of a row, none of them `undefined`. */
export type RowUpdate<T extends ResourceTable> = { readonly id: number; readonly change: RowChange<T> };

/**
 * Changes rows. `updates` has each row at most once. Rows that change the same columns share one statement.
 */
export async function updateResources<T extends ResourceTable>(
  tx: Transaction,
  table: T,
  updates: readonly RowUpdate<T>[],
): Promise<void> {
  const alike = Map.groupBy(updates, ({ change }) => Object.keys(change).join());
  for (const some of alike.values()) {
    const columns = Object.keys(some[0]?.change ?? {});
    const set = columns.map((column) => `${column} = ?`).join(', ');
    await tx.runEach(
      `UPDATE ${table} SET ${set} WHERE id = ?`,
      some.map(({ id, change }) => [...valuesOf(change, columns), id]),
    );
  }
}

/**
 * Removes rows. The caller must first remove or detach the components that show a removed monitor or belong
 * to a removed group. The database removes all other rows that refer to the removed rows by a foreign key,
 * such as links and states.
 */
export async function removeResources(
  tx: Transaction,
  table: ResourceTable,
  ids: readonly number[],
): Promise<void> {
  await tx.runEach(
    `DELETE FROM ${table} WHERE id = ?`,
    ids.map((id) => [id]),
  );
}

/**
 * Yields the rows of the workspace that a declared file names, in pages, by ascending id. Rows that a start
 * without a file released are included.
 */
export async function* namedByFile<T extends ResourceTable>(
  source: Readable,
  table: T,
  workspaceId: number,
): AsyncGenerator<NamedRow<T>[]> {
  const columns = ['id', 'owner', 'local_name', ...(table === 'monitors' ? ['type' as const] : [])];
  for (let after = 0; ; ) {
    const rows = await readingOf(source)
      .selectFrom<ResourceTable>(table)
      .select(columns as (keyof OwnedRow)[])
      .where('workspace_id', '=', workspaceId)
      .where('local_name', 'is not', null)
      .where('id', '>', after)
      .orderBy('id')
      .limit(PAGE_ROWS)
      .execute();
    const last = rows.at(-1);
    if (last === undefined) return;
    yield rows as NamedRow<T>[];
    after = last.id;
  }
}

/**
 * Releases all rows that the declared file owns, in all workspaces. The rows keep their local names. Returns
 * the number of released rows.
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
