import { type Kysely, sql } from 'kysely';

// Starts until the row was written that had found slots of a clock that was ahead.
const COLUMN = 'ALTER TABLE results ADD COLUMN set_backs INTEGER NOT NULL DEFAULT 0';

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(COLUMN).execute(db);
}
