import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { registerSqlFunctions } from './sql-functions.ts';
import { Statements } from './statements.ts';

/**
 * ms that a transaction waits for another program's lock (a backup, a shell) before it fails with
 * `store-busy`. The wait holds the writing thread.
 */
export const BUSY_LIMIT_MS = 5_000;

/** A connection that writes, with its prepared statements. */
export type WriteConnection = { readonly sqlite: DatabaseSync; readonly statements: Statements };

/**
 * Opens the file at `path` for writing, and creates it when there is none. The message of an error names the
 * file.
 */
export function openWriteConnection(path: string): WriteConnection {
  let sqlite: DatabaseSync | undefined;
  try {
    // SQLite gives the journal and its index the mode of the database file.
    closeSync(openSync(path, 'a', 0o600));
    sqlite = new DatabaseSync(path, { timeout: BUSY_LIMIT_MS, enableForeignKeyConstraints: true });
    // SQLite overwrites deleted and replaced content where it writes the page anyway, so that secrets are not
    // left behind. Checkpoints run between transactions, not inside a commit. The limit truncates the journal
    // when it starts anew.
    sqlite.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA wal_autocheckpoint = 0;
      PRAGMA journal_size_limit = 16777216;
      PRAGMA cache_size = -8192;
      PRAGMA secure_delete = FAST;
      PRAGMA temp_store = MEMORY`);
    registerSqlFunctions(sqlite);
    return { sqlite, statements: new Statements(sqlite) };
  } catch (error) {
    sqlite?.close();
    if (error instanceof Error && !error.message.includes(path)) error.message = `${path}: ${error.message}`;
    throw error;
  }
}
