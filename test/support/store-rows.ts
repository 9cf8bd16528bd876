import type { Database } from '@svc/coordinator/store/schema.ts';
import type { Store } from '@svc/coordinator/store/store.ts';
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';

/** Direct access to rows for tests, beside the functions that the store offers the service. */

/** All rows of a table that have these values, ordered by the id, or by the first column of the key. */
export async function rowsOf<T extends keyof Database>(
  store: Pick<Store, 'read'>,
  table: T,
  having: Partial<Selectable<Database[T]>> = {},
): Promise<Selectable<Database[T]>[]> {
  let query = store.read.selectFrom<keyof Database>(table).selectAll();
  for (const [column, value] of Object.entries(having)) {
    query = query.where(({ eb, ref }) => eb(ref(column as never), '=', value as never));
  }
  return (await query.orderBy(sql`1`).execute()) as Selectable<Database[T]>[];
}

/** Returns the id of the last row if the table has ids. */
export function addRows<T extends keyof Database>(
  store: Store,
  table: T,
  ...rows: Insertable<Database[T]>[]
): Promise<number> {
  return store.transaction(async ({ db }) => {
    const added = await db
      .insertInto<keyof Database>(table)
      .values(rows as never)
      .returningAll()
      .execute();
    const last: object = added.at(-1) ?? {};
    return 'id' in last ? Number(last.id) : 0;
  });
}

/** Changes a row of a table with ids. */
export async function changeRow<T extends 'deliveries' | 'monitors' | 'notifications'>(
  store: Store,
  table: T,
  id: number,
  change: Updateable<Database[T]>,
): Promise<void> {
  await store.transaction(({ db }) =>
    db
      .updateTable(table as 'deliveries')
      .set(change as Updateable<Database['deliveries']>)
      .where('id', '=', id)
      .execute(),
  );
}

/** Adds a workspace. Returns its id. */
export function addWorkspace(store: Store, name: string): Promise<number> {
  return addRows(store, 'workspaces', { name, created_at: 0 });
}
