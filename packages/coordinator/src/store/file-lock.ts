import { DatabaseSync } from 'node:sqlite';
import { isSqliteFailure, StoreError, storeErrorOf } from './errors.ts';

/**
 * Takes the database file for this process until the returned function is called or the process ends,
 * however it ends. Node has no file locks of its own, so SQLite's are used: an exclusive transaction on
 * an empty database beside the file, which the operating system ends with the process.
 *
 * @throws StoreError `store-in-use`
 */
export function lockDatabaseFile(path: string): () => void {
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(`${path}.lock`, { timeout: 0 });
    // A journal in memory: the lock never leaves a file to be recovered.
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    lock?.close();
    if (isSqliteFailure(error) && (error.errcode & 0xff) === 5) {
      throw new StoreError(
        'store-in-use',
        `another coordinator uses ${path}: one SQLite file serves one coordinator (several need PostgreSQL)`,
        { cause: error },
      );
    }
    throw isSqliteFailure(error)
      ? storeErrorOf({ errcode: error.errcode, message: `${path}.lock: ${error.message}` }, error)
      : error;
  }
  const held = lock;
  return () => held.close();
}
