import { type Kysely, sql } from 'kysely';

const STATEMENTS = [
  // Lists by name or type read this index instead of the whole rows, whose attributes take some kilobytes
  // each.
  'CREATE INDEX monitors_names ON monitors (workspace_id, id, name, type)',
  // The new index begins with the same columns.
  'DROP INDEX monitors_workspace',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
