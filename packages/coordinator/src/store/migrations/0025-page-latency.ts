import { type Kysely, sql } from 'kysely';

// Whether a page shows how fast its monitors answer, and over which time: `none`, `24h` or `7d`.
const COLUMN = "ALTER TABLE status_pages ADD COLUMN latency TEXT NOT NULL DEFAULT 'none'";

export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw(COLUMN).execute(db);
}
