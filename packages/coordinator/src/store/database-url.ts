import type { Logger } from '@svc/shared/log.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { openFile } from './sqlite/open-file.ts';
import type { StoreWorkers } from './sqlite/store-thread.ts';
import type { Store } from './store.ts';

const SQLITE = 'sqlite:';

/** Where the coordinator's rows lie: `sqlite:<path>` or `postgres://…`. The latter may have a password. */
export type DatabaseUrl = Secret;

/** The file of a database of SQLite; null: it is one of PostgreSQL. */
export function fileOf(url: DatabaseUrl): string | null {
  const text = url.reveal();
  return text.startsWith(SQLITE) ? text.slice(SQLITE.length) : null;
}

/** Whether several coordinators may use the database at once. */
export function isShared(url: DatabaseUrl): boolean {
  return fileOf(url) === null;
}

/**
 * Opens the database, see `openFile` and `openPostgres`. The latter is loaded only where it is used.
 *
 * @param workers the writer and the readers of a file
 */
export async function openAt(url: DatabaseUrl, log: Logger, workers: StoreWorkers): Promise<Store> {
  const path = fileOf(url);
  if (path !== null) return openFile({ path, log, workers });
  const { openPostgres } = await import('./postgres/open-postgres.ts');
  return openPostgres({ url, log });
}
