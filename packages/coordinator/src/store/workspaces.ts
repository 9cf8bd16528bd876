import type { Store } from './store.ts';

export const DEFAULT_WORKSPACE = 'default';

/** The id of the workspace that the first start makes and the declared file declares. */
export async function ensureDefaultWorkspace(store: Store, now: number): Promise<number> {
  return store.transaction(async ({ db }) => {
    await db
      .insertInto('workspaces')
      .values({ name: DEFAULT_WORKSPACE, created_at: now })
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
