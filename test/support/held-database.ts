import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';

/** Holds the write lock of an SQLite file, see `TestDatabase.hold`. */
export async function holdDatabase(path: string): Promise<{ release(): Promise<void> }> {
  const other = new DatabaseSync(path, { timeout: 0 });
  while (!isBegun(other)) await setImmediate();
  return {
    async release() {
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
