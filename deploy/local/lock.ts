import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * Makes sure that one `npm start` at a time uses a data folder.
 *
 * SQLite's exclusive lock serves because the system releases it when the process ends, however it
 * ends; a file with a process id would outlive a crash.
 *
 * @returns a function that gives the lock back
 * @throws when another process has it
 */
export function lockDataFolder(dataDir: string): () => void {
  const database = new DatabaseSync(join(dataDir, 'start.lock'), { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    throw new Error(
      `svc runs already with the data folder ${dataDir}; stop it there (Ctrl-C), or set SVC_DATA_DIR and SVC_LISTEN for a second one`,
      { cause: error },
    );
  }
  return () => {
    database.exec('ROLLBACK');
    database.close();
  };
}
