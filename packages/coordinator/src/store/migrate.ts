import { Kysely, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { StoreError } from './errors.ts';
import { MIGRATIONS } from './migrations/index.ts';
import type { Database } from './schema.ts';
import { type Execute, sqliteDialect } from './sqlite-dialect.ts';

const MIGRATION_TABLE = 'kysely_migration';

/**
 * Migrates the database to this version of svc; each migration is applied whole or not at all.
 *
 * @returns the names of the migrations that were applied
 * @throws StoreError `store-newer`, `store-foreign`, or the database's error
 */
export async function migrate(execute: Execute, path: string): Promise<string[]> {
  const db = new Kysely<Database>({ dialect: sqliteDialect(execute) });
  await refuseUnknown(db, path);
  const migrator = new Migrator({
    db,
    migrationTableName: MIGRATION_TABLE,
    provider: { getMigrations: async () => ({ ...MIGRATIONS }) },
  });
  // A migration that writes rows anew frees their former pages. Versions before 0.2 left secrets there in clear.
  await execute('PRAGMA secure_delete = ON', []);
  const { error, results } = await migrator.migrateToLatest();
  await execute('PRAGMA secure_delete = FAST', []);
  if (error instanceof StoreError) throw error;
  if (error !== undefined) {
    throw new StoreError('store-error', `${path}: cannot migrate the database to this version of svc`, {
      cause: error,
    });
  }
  return (results ?? [])
    .filter(({ status }) => status === 'Success')
    .map(({ migrationName }) => migrationName);
}

async function refuseUnknown(db: Kysely<Database>, path: string): Promise<void> {
  const tables = await sql<{ name: string }>`SELECT name FROM sqlite_master WHERE type = 'table'`.execute(db);
  if (tables.rows.length === 0) return;
  if (!tables.rows.some(({ name }) => name === MIGRATION_TABLE)) {
    throw new StoreError(
      'store-foreign',
      `${path} is a database, but svc did not create it: set SVC_DATA_DIR or SVC_DATABASE_URL to another path`,
    );
  }
  const applied = await sql<{ name: string }>`SELECT name FROM ${sql.table(MIGRATION_TABLE)}`.execute(db);
  const newer = applied.rows.map(({ name }) => name).filter((name) => !Object.hasOwn(MIGRATIONS, name));
  if (newer.length === 0) return;
  throw new StoreError(
    'store-newer',
    `${path} was written by a newer version of svc (${newer.sort().join(', ')}): start that version or a later one`,
  );
}
