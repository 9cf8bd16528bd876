import { type Kysely, sql } from 'kysely';

/** Indexes for the sweeps of the retention, so that a sweep need not read whole tables. */
const STATEMENTS = [
  // Each row of `transitions` is in exactly one of the two, because the two kinds are kept for different
  // times.
  'CREATE INDEX transitions_changed ON transitions (at, id, monitor_id) WHERE from_status <> to_status',
  'CREATE INDEX transitions_reasons ON transitions (at) WHERE from_status = to_status',
  'CREATE INDEX incidents_closed ON incidents (closed_at) WHERE closed_at IS NOT NULL',
  'CREATE INDEX region_absences_ended ON region_absences (ended_at) WHERE ended_at IS NOT NULL',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
