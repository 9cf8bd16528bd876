import { type Kysely, sql } from 'kysely';

const STATEMENTS = [
  // ms from the slot to the writing of the row, if the slot was decided by then; otherwise null. Older rows
  // do not have it: they count as decided at their slot.
  'ALTER TABLE results ADD COLUMN decided_after INTEGER DEFAULT 0',
  // Slots up to `decided_slot` that are not decided, as JSON. Null: none.
  'ALTER TABLE monitor_states ADD COLUMN open_slots TEXT',
  // Epoch ms on the slots' clock.
  'ALTER TABLE monitor_states ADD COLUMN written_at INTEGER NOT NULL DEFAULT 0',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
