import { DatabaseSync } from 'node:sqlite';

/**
 * Takes a file for this process until the returned function is called or the process ends, however it
 * ends. Node has no file locks of its own, so SQLite's are used: an exclusive transaction on an empty
 * database, which the operating system ends with the process. (A file with a process id would outlive a
 * crash.)
 *
 * @returns null when another process holds it
 * @throws what SQLite says when the file cannot be made or written to
 */
export function lockFile(path: string): (() => void) | null {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    // A journal in memory: the lock never leaves a file to be recovered.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    if (isBusy(error)) return null;
    throw error;
  }
  const held = database;
  return () => held.close();
}

/** SQLITE_BUSY and its extended codes, https://www.sqlite.org/rescode.html */
function isBusy(error: unknown): boolean {
  return (
    error instanceof Error &&
    'errcode' in error &&
    typeof error.errcode === 'number' &&
    (error.errcode & 0xff) === 5
  );
}
