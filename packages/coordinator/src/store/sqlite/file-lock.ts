import { lockFile } from '@svc/shared/process/file-lock.ts';
import { isSqliteFailure, StoreError, storeErrorOf } from '../errors.ts';

/**
 * Locks the database file for this process until the returned function is called or the process ends.
 *
 * @throws StoreError `store-in-use`
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
