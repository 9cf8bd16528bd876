import { type Kysely, sql } from 'kysely';

/** Channels that there were group alerts, as new ones do. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql.raw('ALTER TABLE notifications ADD COLUMN group_alerts INTEGER NOT NULL DEFAULT 1').execute(db);
}
