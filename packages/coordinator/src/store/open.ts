import type { Logger } from '@svc/shared/log.ts';
import type { DatabaseSizes } from './database-sizes.ts';
import { type DatabaseUrl, fileOf, openAt } from './database-url.ts';
import { fileSizes } from './sqlite/database-files.ts';
import { openFile } from './sqlite/open-file.ts';
import type { StoreWorkers } from './sqlite/store-thread.ts';
import { STORE_THREADS } from './sqlite/store-threads.ts';
import type { Store } from './store.ts';

/** Opens the database of a coordinator. */
export function openDatabase(url: DatabaseUrl, log: Logger): Promise<Store> {
  const path = fileOf(url);
  return path === null ? openAt(url, log, STORE_THREADS) : openStore({ path, log });
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
