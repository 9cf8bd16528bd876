import { type Kysely, sql } from 'kysely';

/**
 * What the dashboard needs: sessions of visitors, and links that work once. Only hashes of their secrets are kept. A subject is `token:<id>` or
 * `page:<id>`; it is no foreign key, because it may be either.
 */
const STATEMENTS = [
  `CREATE TABLE sessions (
    hash TEXT PRIMARY KEY, subject TEXT NOT NULL, credential TEXT NOT NULL, created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL)`,
  'CREATE INDEX sessions_subject ON sessions (subject)',
  'CREATE INDEX sessions_expiry ON sessions (expires_at)',
  `CREATE TABLE one_time_links (
    hash TEXT PRIMARY KEY, purpose TEXT NOT NULL, detail TEXT NOT NULL, expires_at INTEGER NOT NULL)`,
  'CREATE INDEX one_time_links_expiry ON one_time_links (expires_at)',
  // The overview of monitors reads this alone: the rows are many times larger.
  'CREATE INDEX monitors_overview ON monitors (workspace_id, id, active, name, type)',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
