import { type Selectable, sql } from 'kysely';
import { containsText } from '../dialect.ts';
import { type Readable, readingOf, wholeMs } from '../queries.ts';
import type { Database } from '../schema.ts';
import type { Store, Transaction } from '../store.ts';
import type { Page } from './resource-lists.ts';

const DEFAULT_WORKSPACE = 'default';

export type Workspace = Selectable<Database['workspaces']>;

/**
 * Returns the id of the default workspace, which contains the resources of the declared file. The first start
 * creates it.
 *
 * @param now epoch ms
 */
export async function ensureDefaultWorkspace(store: Store, now: number): Promise<number> {
  return store.transaction(async ({ db }) => {
    await db
      .insertInto('workspaces')
      .values({ name: DEFAULT_WORKSPACE, created_at: wholeMs(now) })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute();
    const { id } = await db
      .selectFrom('workspaces')
      .select('id')
      .where('name', '=', DEFAULT_WORKSPACE)
      .executeTakeFirstOrThrow();
    return id;
  });
}

/**
 * A part of the list of workspaces, by ascending id, and the number of all that match. `only` limits the list
 * to one workspace. `nameContains` ignores the case of ASCII letters.
 */
export async function listWorkspaces(
  store: Store,
  { limit, offset }: Page,
  { nameContains, only = null }: { nameContains?: string | undefined; only?: number | null } = {},
): Promise<{ rows: Workspace[]; total: number }> {
  const all = store.read
    .selectFrom('workspaces')
    .$if(only !== null, (from) => from.where('id', '=', only))
    .$if(nameContains !== undefined, (from) => from.where(containsText(sql`name`, nameContains ?? '')));
  const [rows, { total }] = await Promise.all([
    all.selectAll().orderBy('id').limit(limit).offset(offset).execute(),
    all.select(({ fn }) => fn.countAll<number>().as('total')).executeTakeFirstOrThrow(),
  ]);
  return { rows, total };
}

export async function findWorkspace(source: Readable, id: number): Promise<Workspace | null> {
  const query = readingOf(source).selectFrom('workspaces').selectAll().where('id', '=', id);
  return (await query.executeTakeFirst()) ?? null;
}

/**
 * Inserts a workspace. Returns its id; null: another workspace has the name.
 *
 * @param now epoch ms
 */
export async function insertWorkspace(
  { db }: Transaction,
  name: string,
  now: number,
): Promise<number | null> {
  const row = await db
    .insertInto('workspaces')
    .values({ name, created_at: wholeMs(now) })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .returning('id')
    .executeTakeFirst();
  return row?.id ?? null;
}
