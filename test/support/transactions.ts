import { StoreError } from '@svc/coordinator/store/errors.ts';
import type { Store, Transaction } from '@svc/coordinator/store/store.ts';

/** The work of a transaction that inserts a workspace. */
export const insertWorkspace = (name: string) => (tx: Transaction) =>
  tx.db.insertInto('workspaces').values({ name, created_at: 1 }).execute();

/** The names of all workspaces, in the order of their ids. */
export async function workspaceNames(store: Store): Promise<string[]> {
  const rows = await store.read.selectFrom('workspaces').select('name').orderBy('id').execute();
  return rows.map(({ name }) => name);
}

/**
 * The code of the store's error with which the work fails; `none` if it succeeds. Other errors are thrown.
 */
export const errorCodeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'none',
    (error: unknown) => (error instanceof StoreError ? error.code : error),
  );
