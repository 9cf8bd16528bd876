import type { Secret } from '@svc/shared/secret.ts';

const SQLITE = 'sqlite:';

/**
 * The address of the coordinator's database: `sqlite:<path>` or `postgres://…`. It is a secret, because the
 * second form may contain a password.
 */
export type DatabaseUrl = Secret;

/** The path of an SQLite database file; null: the URL is that of a PostgreSQL database. */
export function fileOf(url: DatabaseUrl): string | null {
  const text = url.reveal();
  return text.startsWith(SQLITE) ? text.slice(SQLITE.length) : null;
}

/** Whether several coordinators may use the database at once. */
export function isShared(url: DatabaseUrl): boolean {
  return fileOf(url) === null;
}
