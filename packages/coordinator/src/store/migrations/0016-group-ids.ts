import { type Kysely, sql } from 'kysely';

/** The id of the message for many alerts in which a delivery may have been sent; null: it was in none. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('ALTER TABLE deliveries ADD COLUMN group_uid TEXT').execute(db);
}
