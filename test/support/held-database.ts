import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';

/**
 * Holds the write lock of a database until it is released, as another program would (a backup, a shell). It
 * waits for the present writer without holding this thread: the writer may need it.
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
