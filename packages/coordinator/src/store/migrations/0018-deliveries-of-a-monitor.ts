import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  // Serves the newest deliveries of a monitor, over all of its channels.
  await sql.raw('CREATE INDEX deliveries_monitor ON deliveries (monitor_id, id)').execute(db);
}
