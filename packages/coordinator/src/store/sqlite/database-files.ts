import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { lockFile } from '@svc/shared/process/file-lock.ts';
import type { DatabaseSizes } from '../database-sizes.ts';
import { isSqliteFailure, StoreError, storeErrorOf } from '../errors.ts';

/** Returns the sizes of the database's files at `path`, and the free space on their disk. */
export async function fileSizes(path: string): Promise<DatabaseSizes> {
  const [file, journal, disk] = await Promise.all([
    stat(path),
    // When the last program closes the database, SQLite removes the journal.
    stat(`${path}-wal`).catch(() => ({ size: 0 })),
    statfs(dirname(path)),
  ]);
  return { file: file.size, journal: journal.size, free: disk.bavail * disk.bsize };
}

/**
 * Locks the database file for this process until the returned function is called or the process ends.
 *
 * @throws StoreError `store-in-use`, or SQLite's error about the file of the lock
 */
export function lockDatabaseFile(path: string): () => void {
  let release: (() => void) | null;
  try {
    release = lockFile(`${path}.lock`);
  } catch (error) {
    throw isSqliteFailure(error)
      ? storeErrorOf({ errcode: error.errcode, message: `${path}.lock: ${error.message}` }, error)
      : error;
  }
  if (release !== null) return release;
  throw new StoreError(
    'store-in-use',
    `another coordinator uses ${path}: one SQLite file serves one coordinator (several need PostgreSQL)`,
  );
}
