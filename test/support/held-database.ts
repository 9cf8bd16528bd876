import { DatabaseSync } from 'node:sqlite';

/** Holds the lock on a database for writing, as another program would (a backup, a shell), until told. */
export function holdDatabase(path: string): { release(): void } {
  const other = new DatabaseSync(path);
  other.exec('BEGIN IMMEDIATE');
  return {
    release() {
      other.exec('ROLLBACK');
      other.close();
    },
  };
}
