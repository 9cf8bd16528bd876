import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Logger } from '@svc/shared/log.ts';
import type { Secret } from '@svc/shared/secret.ts';
import type { DatabaseSizes } from './database-sizes.ts';
import { migrate } from './migrate.ts';
import { SerialStore } from './serial-store.ts';
import { fileSizes, lockDatabaseFile } from './sqlite/database-files.ts';
import { openReadingFile } from './sqlite/read-requests.ts';
import { Reader } from './sqlite/reader.ts';
import { sqliteDialect } from './sqlite/sqlite-dialect.ts';
import { STORE_THREADS, type StoreWorkers } from './sqlite/store-thread.ts';
import { Writer } from './sqlite/writer.ts';
import type { Store, StoreReading } from './store.ts';

const SQLITE = 'sqlite:';

/** Where the coordinator's rows lie: `sqlite:<path>` or `postgres://…`. The latter may have a password. */
export type DatabaseUrl = Secret;

/** The file of a database of SQLite; null: it is one of PostgreSQL. */
function pathOf(url: string): string | null {
  return url.startsWith(SQLITE) ? url.slice(SQLITE.length) : null;
}

/** Whether several coordinators may use the database at once. */
export function isShared(url: DatabaseUrl): boolean {
  return pathOf(url.reveal()) === null;
}

/** Opens the database, see {@link openStore} and `openPostgres`. The latter is loaded only where it is used. */
export async function openDatabase(url: DatabaseUrl, log: Logger): Promise<Store> {
  const path = pathOf(url.reveal());
  if (path !== null) return openStore({ path, log });
  const { openPostgres } = await import('./postgres/open-postgres.ts');
  return openPostgres({ url, log });
}

/** Opens a migrated database for reading on the calling thread: for threads with long work of their own. */
export async function openReading(url: DatabaseUrl, log: Logger): Promise<StoreReading> {
  const path = pathOf(url.reveal());
  if (path !== null) return openReadingFile(path);
  const { openPostgresReading } = await import('./postgres/open-postgres.ts');
  return openPostgresReading({ url, log });
}

/** The sizes of the database now. */
export async function databaseSizes(url: DatabaseUrl, store: Store): Promise<DatabaseSizes> {
  const path = pathOf(url.reveal());
  if (path !== null) return fileSizes(path);
  const { postgresSizes } = await import('./postgres/open-postgres.ts');
  return postgresSizes(store);
}

type Parts = {
  readonly path: string;
  readonly log: Logger;
  /** The writer and the readers of the file; threads by default. */
  readonly workers?: StoreWorkers;
};

/**
 * Opens the SQLite file at `path`, creates it when there is none, and migrates it to this version.
 *
 * @throws StoreError `store-in-use`, `store-newer`, `store-foreign`, or SQLite's error
 */
export async function openStore({ path, log, workers = STORE_THREADS }: Parts): Promise<Store> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const unlock = lockDatabaseFile(path);
  const writer = new Writer(path, workers, log);
  try {
    const execute = (sql: string, parameters: readonly unknown[]) => writer.run(sql, parameters);
    await migrate(sqliteDialect(execute), path, log);
    const [reader, workReader] = [new Reader(path, workers, log), new Reader(path, workers, log)];
    return new SerialStore({ writer, reader, workReader, unlock, log });
  } catch (error) {
    await writer.close().finally(unlock);
    throw error;
  }
}
