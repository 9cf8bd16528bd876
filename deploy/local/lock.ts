import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '@svc/shared/errors.ts';

/**
 * Makes sure that one `npm start` at a time uses a data folder.
 *
 * SQLite's exclusive lock serves because the system releases it when the process ends, however it
 * ends; a file with a process id would outlive a crash. Such a file is there too, but only to tell
 * people which process has the folder.
 *
 * @returns a function that gives the lock back
 * @throws when another process has it, or the folder cannot be written to
 */
export function lockDataFolder(dataDir: string): () => void {
  const pidFile = join(dataDir, 'start.pid');
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(join(dataDir, 'start.lock'), { timeout: 0 });
    database.exec('BEGIN EXCLUSIVE');
    writeFileSync(pidFile, `${process.pid}\n`);
  } catch (error) {
    database?.close();
    throw new Error(isBusy(error) ? heldBy(dataDir, pidFile) : unusable(dataDir, error), { cause: error });
  }
  return () => {
    rmSync(pidFile, { force: true });
    database.exec('ROLLBACK');
    database.close();
  };
}

function heldBy(dataDir: string, pidFile: string): string {
  const pid = readPid(pidFile);
  return (
    `svc runs already with the data folder ${dataDir}${pid === null ? '' : ` (process ${pid})`}; ` +
    'stop it there (Ctrl-C), or set SVC_DATA_DIR and SVC_LISTEN for a second one'
  );
}

/** What people are told about a data folder that cannot be used. */
export function unusable(dataDir: string, error: unknown): string {
  return `the data folder ${dataDir} cannot be used: ${messageOf(error)}; set SVC_DATA_DIR to a folder that can be written to`;
}

/** SQLITE_BUSY, https://www.sqlite.org/rescode.html */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === 5;
}

function readPid(file: string): number | null {
  try {
    return Number(readFileSync(file, 'utf8')) || null;
  } catch {
    return null; // The other process has only just begun, or ends.
  }
}
