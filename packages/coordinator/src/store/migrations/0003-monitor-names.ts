import { type Kysely, sql } from 'kysely';

const STATEMENTS = [
  // Lists by name or type look at it instead of the whole rows, whose attributes are some kilobytes each.
  'CREATE INDEX monitors_names ON monitors (workspace_id, id, name, type)',
  // It begins as the new one does.
  'DROP INDEX monitors_workspace',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
