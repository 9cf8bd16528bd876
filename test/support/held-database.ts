import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';

/**
 * Holds the lock on a database for writing, as another program would (a backup, a shell), until told. Who
 * writes at this moment is waited for, without holding this thread: it may be the one that goes on writing.
 */
export async function holdDatabase(path: string): Promise<{ release(): void }> {
  const other = new DatabaseSync(path, { timeout: 0 });
  while (!isBegun(other)) await setImmediate();
  return {
    release() {
      other.exec('ROLLBACK');
      other.close();
    },
  };
}

function isBegun(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    if (error instanceof Error && error.message === 'database is locked') return false;
    throw error;
  }
}
