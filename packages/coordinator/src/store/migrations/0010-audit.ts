import { type Kysely, sql } from 'kysely';

/**
 * The audit trail: actions and refusals. Lines have no foreign keys, because they outlive the rows that they
 * describe.
 */
const STATEMENTS = [
  `CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, workspace_id INTEGER, actor TEXT NOT NULL,
    token_id INTEGER, token_name TEXT, action TEXT NOT NULL, object TEXT NOT NULL, outcome TEXT NOT NULL,
    status INTEGER, request_id TEXT, peer TEXT, detail TEXT)`,
  'CREATE INDEX audit_workspace ON audit (workspace_id, id)',
  'CREATE INDEX audit_token ON audit (token_id, id)',
  'CREATE INDEX audit_object ON audit (object, id)',
  'CREATE INDEX audit_outcome ON audit (outcome, id)',
  'CREATE INDEX audit_at ON audit (at)',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
