import { DatabaseSync } from 'node:sqlite';

/**
 * Locks a file for this process until the returned function is called or the process ends in any way.
 *
 * Node has no file locks of its own, so this function uses a lock of SQLite: an exclusive transaction on an
 * empty database. The operating system releases the lock when the process ends. A file with a process id
 * would remain after a crash.
 *
 * @returns null when the lock is held already
 * @throws the error of SQLite when the file cannot be created or written
 */
export function lockFile(path: string): (() => void) | null {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    // The journal is in memory, so that the lock never leaves a file to recover.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    if (isBusy(error)) return null;
    throw error;
  }
  const held = database;
  return () => held.close();
}

/** Whether the error is SQLITE_BUSY or one of its extended codes (https://www.sqlite.org/rescode.html). */
function isBusy(error: unknown): boolean {
  return (
    error instanceof Error &&
    'errcode' in error &&
    typeof error.errcode === 'number' &&
    (error.errcode & 0xff) === 5
  );
}
