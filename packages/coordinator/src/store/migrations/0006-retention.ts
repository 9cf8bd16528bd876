import { type Kysely, sql } from 'kysely';

/** What a sweep of the retention looks for, so that it need not read whole tables. */
const STATEMENTS = [
  // A row of `transitions` is in one of the two: they are kept for different times.
  'CREATE INDEX transitions_changed ON transitions (at, id, monitor_id) WHERE from_status <> to_status',
  'CREATE INDEX transitions_reasons ON transitions (at) WHERE from_status = to_status',
  'CREATE INDEX incidents_closed ON incidents (closed_at) WHERE closed_at IS NOT NULL',
  'CREATE INDEX region_absences_ended ON region_absences (ended_at) WHERE ended_at IS NOT NULL',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
