import { type Kysely, sql } from 'kysely';

/**
 * The column named the types of monitor that there were: each further one would have had to make the table anew. A
 * type that a version does not know is refused where its row is read.
 */
const STATEMENTS = [
  "ALTER TABLE monitors ADD COLUMN any_type TEXT NOT NULL DEFAULT ''",
  'UPDATE monitors SET any_type = type',
  'DROP INDEX monitors_names',
  // The table stays, and so do the rows that refer to it.
  'ALTER TABLE monitors DROP COLUMN type',
  'ALTER TABLE monitors RENAME COLUMN any_type TO type',
  'CREATE INDEX monitors_names ON monitors (workspace_id, id, name, type)',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
