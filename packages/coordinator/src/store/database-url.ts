import type { Logger } from '@svc/shared/log.ts';
import type { Secret } from '@svc/shared/secret.ts';
import { openFile } from './sqlite/open-file.ts';
import { openReadingFile } from './sqlite/read-requests.ts';
import type { StoreWorkers } from './sqlite/store-thread.ts';
import type { Store, StoreReading } from './store.ts';

const SQLITE = 'sqlite:';

/**
 * The address of the coordinator's database: `sqlite:<path>`, or `postgres://…` (also as `postgresql://…`).
 * It is a secret, because the second form may contain a password.
 */
export type DatabaseUrl = Secret;

/** The path of an SQLite database file; null: the URL is that of a PostgreSQL database. */
export function fileOf(url: DatabaseUrl): string | null {
  const text = url.reveal();
  return text.startsWith(SQLITE) ? text.slice(SQLITE.length) : null;
}

/** Whether several coordinators may use the database at once. */
export function isShared(url: DatabaseUrl): boolean {
  return fileOf(url) === null;
}

/**
 * Opens the database, see `openFile` and `openPostgres`. The code for PostgreSQL is loaded only when the URL
 * needs it. This file imports no threads, because the command line's bundle has none.
 *
 * @param workers the writer and the readers of an SQLite file; not used for PostgreSQL
 */
export async function openAt(url: DatabaseUrl, log: Logger, workers: StoreWorkers): Promise<Store> {
  const path = fileOf(url);
  if (path !== null) return openFile({ path, log, workers });
  const { openPostgres } = await import('./postgres/open-postgres.ts');
  return openPostgres({ url, log });
}

/**
 * Connects to a PostgreSQL database, and reads the version of its server. `isReadOnly`: the server is a
 * standby.
 *
 * @throws StoreError `store-newer`, `store-foreign`, or the error of the connection
 */
export async function examineServer(
  url: DatabaseUrl,
  log: Logger,
): Promise<{ version: string; isReadOnly: boolean }> {
  const { examinePostgres } = await import('./postgres/open-postgres.ts');
  return examinePostgres({ url, log });
}

/**
 * Opens a migrated database for reading: an SQLite file on the calling thread, PostgreSQL through one
 * connection. If there is no database, none is created. Errors of an SQLite file are those of `node:sqlite`,
 * not StoreErrors.
 */
export async function openReading(url: DatabaseUrl, log: Logger): Promise<StoreReading> {
  const path = fileOf(url);
  if (path !== null) return openReadingFile(path);
  const { openPostgresReading } = await import('./postgres/open-postgres.ts');
  return openPostgresReading({ url, log });
}
