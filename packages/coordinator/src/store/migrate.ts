import type { Logger } from '@svc/shared/log.ts';
import { type Dialect, Kysely, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { TABLE_NAMES } from './dialect.ts';
import { newerError, StoreError } from './errors.ts';
import { MIGRATIONS } from './migrations/index.ts';
import type { Database } from './schema.ts';

const MIGRATION_TABLE = 'kysely_migration';

/**
 * Migrates the database to this version of svc. Each migration is applied completely or not at all.
 *
 * @param path the database, for messages
 * @throws StoreError `store-newer`, `store-foreign`, the database's error, or `store-error` when a migration fails
 *   for another reason
 */
export async function migrate(dialect: Dialect, path: string, log: Logger): Promise<void> {
  const db = new Kysely<Database>({ dialect });
  const applied = await appliedTo(db, path);
  // Kysely's migrator is not run when nothing is to be done, because it first reads the definition of every
  // table.
  if (Object.keys(MIGRATIONS).every((name) => applied.has(name))) return;
  const migrator = new Migrator({
    db,
    migrationTableName: MIGRATION_TABLE,
    provider: { getMigrations: async () => ({ ...MIGRATIONS }) },
  });
  const { error, results } = await migrator.migrateToLatest();
  if (error instanceof StoreError) throw error;
  if (error !== undefined) {
    throw new StoreError('store-error', `${path}: cannot migrate the database to this version of svc`, {
      cause: error,
    });
  }
  const migrations = (results ?? [])
    .filter(({ status }) => status === 'Success')
    .map(({ migrationName }) => migrationName);
  log.info({ path, migrations }, 'migrated the database to this version of svc');
}

/**
 * Returns the names of the migrations that the database has; an empty set for a database without tables.
 *
 * @param path the database, for messages
 * @throws StoreError `store-newer` when a newer version of svc has migrated the database, `store-foreign` when
 *   another program has made it
 */
export async function appliedTo(db: Kysely<Database>, path: string): Promise<ReadonlySet<string>> {
  const tables = await TABLE_NAMES.execute(db);
  if (tables.rows.length === 0) return new Set();
  if (!tables.rows.some(({ name }) => name === MIGRATION_TABLE)) {
    throw new StoreError(
      'store-foreign',
      `${path} is a database, but svc did not create it: set SVC_DATA_DIR or SVC_DATABASE_URL to another one`,
    );
  }
  return refuseNewer(db, path);
}

/**
 * Returns the names of the migrations that the database of svc has.
 *
 * @param path the database, for messages
 * @throws StoreError `store-newer`: this version does not know one of them
 */
export async function refuseNewer(db: Kysely<Database>, path: string): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`SELECT name FROM ${sql.table(MIGRATION_TABLE)}`.execute(db);
  const applied = rows.map(({ name }) => name);
  const newer = applied.filter((name) => !Object.hasOwn(MIGRATIONS, name)).sort();
  if (newer.length > 0) throw newerError(path, newer.join(', '));
  return new Set(applied);
}
