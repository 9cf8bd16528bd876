import { type Kysely, sql } from 'kysely';

/**
 * Tokens get a third scope, an expiry and a creator. Existing tokens keep their scope. A `write` token no
 * longer administers tokens; only the operator's token does. The number of tokens that lose this right is
 * kept until a start has logged it.
 */
const STATEMENTS = [
  `CREATE TABLE new_tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id INTEGER NOT NULL REFERENCES workspaces,
    name TEXT NOT NULL, scope TEXT NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
    hash TEXT NOT NULL UNIQUE, is_operator INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL, created_by INTEGER, expires_at INTEGER, last_used_at INTEGER,
    revoked_at INTEGER)`,
  `INSERT INTO new_tokens (id, workspace_id, name, scope, hash, is_operator, created_at, revoked_at)
    SELECT id, workspace_id, name, CASE is_operator WHEN 1 THEN 'admin' ELSE scope END, hash, is_operator,
      created_at, revoked_at FROM tokens`,
  `INSERT INTO facts (key, value)
    SELECT 'tokens_without_administration', CAST(count(*) AS TEXT) FROM tokens
    WHERE scope = 'write' AND is_operator = 0 AND revoked_at IS NULL HAVING count(*) > 0`,
  'DROP TABLE tokens',
  'ALTER TABLE new_tokens RENAME TO tokens',
  'CREATE INDEX tokens_created_by ON tokens (created_by) WHERE created_by IS NOT NULL',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
