import { type Kysely, sql } from 'kysely';

/**
 * Until this version a slot could be at any millisecond: results up to this slot are looked for on that grid
 * too.
 */
const STATEMENTS = [
  `INSERT INTO facts (key, value)
    SELECT 'fine_grid_until', CAST(max(slot) AS TEXT) FROM results HAVING max(slot) IS NOT NULL`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
