import { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { MIGRATIONS } from '../../../packages/coordinator/src/store/migrations/index.ts';
import { sqliteDialect } from '../../../packages/coordinator/src/store/sqlite-dialect.ts';
import { Statements } from '../../../packages/coordinator/src/store/statements.ts';
import type { SqlValue } from '../../../packages/coordinator/src/store/store.ts';

export type OldDatabase = { runEach(sql: string, rows: readonly (readonly SqlValue[])[]): void };

/**
 * Creates a database as an older version left it: with the migrations up to this one, and the rows that `fill`
 * writes.
 */
export async function makeOldDatabase(
  path: string,
  lastMigration: string,
  fill: (database: OldDatabase) => void,
): Promise<void> {
  const sqlite = new DatabaseSync(path);
  sqlite.exec('PRAGMA journal_mode = WAL');
  const statements = new Statements(sqlite);
  const db = new Kysely({ dialect: sqliteDialect(async (text, values) => statements.run(text, values)) });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => MIGRATIONS } });
  const { error } = await migrator.migrateTo(lastMigration);
  if (error !== undefined) throw error;
  sqlite.exec('BEGIN');
  fill({
    runEach(sql, rows) {
      for (const row of rows) statements.run(sql, row);
    },
  });
  sqlite.exec('COMMIT');
  sqlite.close();
}
