import { type Kysely, sql } from 'kysely';

const STATEMENTS = [
  // When the row was written, ms after its slot, if the slot was decided by then; else null. Rows of before do
  // not say when: they count as decided at their slot.
  'ALTER TABLE results ADD COLUMN decided_after INTEGER DEFAULT 0',
  // Slots up to `decided_slot` that are not decided, as JSON. Null: none.
  'ALTER TABLE monitor_states ADD COLUMN open_slots TEXT',
  // Epoch ms on the slots' clock.
  'ALTER TABLE monitor_states ADD COLUMN written_at INTEGER NOT NULL DEFAULT 0',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
