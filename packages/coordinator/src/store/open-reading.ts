import { DatabaseSync } from 'node:sqlite';
import { Kysely } from 'kysely';
import type { Database } from './schema.ts';
import { registerSqlFunctions } from './sql-functions.ts';
import { sqliteDialect } from './sqlite-dialect.ts';
import { Statements } from './statements.ts';
import type { Store } from './store.ts';

/**
 * Opens a database that {@link openStore} has migrated, for reading on the calling thread: for threads with long
 * work of their own.
 */
export function openReading(path: string): Pick<Store, 'read'> & { close(): void } {
  const sqlite = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  sqlite.exec('PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY');
  registerSqlFunctions(sqlite);
  const statements = new Statements(sqlite);
  const read = new Kysely<Database>({
    dialect: sqliteDialect(async (sql, parameters) => statements.run(sql, parameters)),
  });
  return { read, close: () => sqlite.close() };
}
