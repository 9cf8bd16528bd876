import type { Store } from '@svc/coordinator/store/store.ts';

/** Leaves the database no room to grow, like a full disk, until the returned function is called. */
export async function fillDatabase(store: Store): Promise<() => Promise<void>> {
  const [size] = await store.transaction((tx) => tx.query<{ page_count: number }>('PRAGMA page_count'));
  const pages = size?.page_count ?? 1;
  const limit = (most: number) => store.transaction((tx) => tx.query(`PRAGMA max_page_count = ${most}`));
  await limit(pages);
  return async () => {
    await limit(pages * 1_000);
  };
}
