import type { Logger } from '@svc/shared/log.ts';
import type { DatabaseSizes } from './database-sizes.ts';
import { type DatabaseUrl, fileOf } from './database-url.ts';
import { fileSizes } from './sqlite/database-files.ts';
import { openFile } from './sqlite/open-file.ts';
import { openReadingFile } from './sqlite/read-requests.ts';
import type { StoreWorkers } from './sqlite/store-thread.ts';
import { STORE_THREADS } from './sqlite/store-threads.ts';
import type { Store, StoreReading } from './store.ts';

/**
 * Opens the database, see {@link openStore} and `openPostgres`. The code for PostgreSQL is loaded only when the URL
 * needs it.
 *
 * @param workers the writer and the readers of an SQLite file; PostgreSQL needs none
 */
export async function openDatabase(
  url: DatabaseUrl,
  log: Logger,
  workers: StoreWorkers = STORE_THREADS,
): Promise<Store> {
  const path = fileOf(url);
  if (path !== null) return openStore({ path, log, workers });
  const { openPostgres } = await import('./postgres/open-postgres.ts');
  return openPostgres({ url, log });
}

/** Opens a migrated database for reading on the calling thread. It creates nothing where there is none. */
export async function openReading(url: DatabaseUrl, log: Logger): Promise<StoreReading> {
  const path = fileOf(url);
  if (path !== null) return openReadingFile(path);
  const { openPostgresReading } = await import('./postgres/open-postgres.ts');
  return openPostgresReading({ url, log });
}

/** The sizes of the database now. */
export async function databaseSizes(url: DatabaseUrl, store: Store): Promise<DatabaseSizes> {
  const path = fileOf(url);
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

/** Opens the SQLite file at `path`, see {@link openFile}. */
export function openStore({ path, log, workers = STORE_THREADS }: Parts): Promise<Store> {
  return openFile({ path, log, workers });
}
