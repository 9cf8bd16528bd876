import type { Store } from '@svc/coordinator/store/store.ts';
import { IS_POSTGRES } from './database.ts';

/** Leaves the database no room to grow, like a full disk, until the returned function is called. */
export function fillDatabase(store: Store): Promise<() => Promise<void>> {
  return IS_POSTGRES ? fillPostgres(store) : fillSqlite(store);
}

async function fillSqlite(store: Store): Promise<() => Promise<void>> {
  const [size] = await store.transaction((tx) => tx.query<{ page_count: number }>('PRAGMA page_count'));
  const pages = size?.page_count ?? 1;
  const limit = (most: number) => store.transaction((tx) => tx.query(`PRAGMA max_page_count = ${most}`));
  await limit(pages);
  return async () => {
    await limit(pages * 1_000);
  };
}

/**
 * Triggers raise PostgreSQL's error for a full disk, because the server has no limit
 * that a test could set. The store itself notes each commit in `last_commits`.
 */
async function fillPostgres(store: Store): Promise<() => Promise<void>> {
  await store.transaction(async (tx) => {
    await tx.query(`CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'the disk is full' USING ERRCODE = 'disk_full'; END $$`);
    await tx.query(`DO $$ DECLARE each record; BEGIN
      FOR each IN SELECT tablename FROM pg_tables
          WHERE schemaname = current_schema() AND tablename <> 'last_commits' LOOP
        EXECUTE format('CREATE TRIGGER full_disk BEFORE INSERT OR UPDATE ON %I EXECUTE FUNCTION full_disk()', each.tablename);
      END LOOP; END $$`);
  });
  return async () => {
    await store.transaction((tx) => tx.query('DROP FUNCTION full_disk CASCADE'));
  };
}
