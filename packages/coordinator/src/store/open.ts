import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Logger } from '@svc/shared/log.ts';
import { isSqliteFailure, storeErrorOf, toStoreError } from './errors.ts';
import { lockDatabaseFile } from './file-lock.ts';
import { migrate } from './migrate.ts';
import { Reader } from './reader.ts';
import { registerSqlFunctions } from './sql-functions.ts';
import type { Execute } from './sqlite-dialect.ts';
import { SqliteStore } from './sqlite-store.ts';
import { Statements } from './statements.ts';
import type { Store } from './store.ts';

/**
 * Opens the SQLite file at `path`, makes it when it is not there, and brings it up to date.
 *
 * @throws StoreError `store-in-use`, `store-newer`, `store-foreign`, or what SQLite answered
 */
export async function openStore({ path, log }: { path: string; log: Logger }): Promise<Store> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const unlock = lockDatabaseFile(path);
  let sqlite: DatabaseSync | undefined;
  try {
    sqlite = openWriting(path);
    const write = writingThrough(new Statements(sqlite));
    const applied = await migrate(write, path);
    if (applied.length > 0) log.info({ path, migrations: applied }, 'database brought up to date');
    return new SqliteStore({ path, sqlite, write, reader: new Reader(path, log), unlock, log });
  } catch (error) {
    sqlite?.close();
    unlock();
    if (isSqliteFailure(error))
      throw storeErrorOf({ errcode: error.errcode, message: `${path}: ${error.message}` }, error);
    throw error;
  }
}

function openWriting(path: string): DatabaseSync {
  // SQLite gives the journal and its index the mode of the database file.
  closeSync(openSync(path, 'a', 0o600));
  // Waiting for a lock blocks the thread, so SQLite waits shortly and `begin` waits the rest.
  const sqlite = new DatabaseSync(path, { timeout: 10, enableForeignKeyConstraints: true });
  try {
    // Checkpoints are the reading thread's; the limit cuts the journal when it starts anew.
    sqlite.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA wal_autocheckpoint = 0;
      PRAGMA journal_size_limit = 16777216;
      PRAGMA cache_size = -16384;
      PRAGMA temp_store = MEMORY`);
    registerSqlFunctions(sqlite);
    return sqlite;
  } catch (error) {
    sqlite.close();
    throw error;
  }
}

function writingThrough(statements: Statements): Execute {
  return async (sql, parameters) => {
    try {
      return statements.run(sql, parameters);
    } catch (error) {
      throw toStoreError(error);
    }
  };
}
