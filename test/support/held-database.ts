import { DatabaseSync } from 'node:sqlite';

/** Who writes at this moment is waited for, ms. */
const OTHERS_MS = 5_000;

/** Holds the lock on a database for writing, as another program would (a backup, a shell), until told. */
export function holdDatabase(path: string): { release(): void } {
  const other = new DatabaseSync(path, { timeout: OTHERS_MS });
  other.exec('BEGIN IMMEDIATE');
  return {
    release() {
      other.exec('ROLLBACK');
      other.close();
    },
  };
}
