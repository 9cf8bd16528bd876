import { type Kysely, sql } from 'kysely';

const STATEMENTS = [
  // `version`: the version of the probed attributes that the votes belong to. Results of slots up to
  // `floor_slot` never vote. `entered` has a bit per region that was given a slot. Older rows know none of
  // these; all their regions count as entered.
  'ALTER TABLE monitor_states ADD COLUMN reason TEXT',
  'ALTER TABLE monitor_states ADD COLUMN version INTEGER',
  'ALTER TABLE monitor_states ADD COLUMN floor_slot INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE monitor_states ADD COLUMN entered INTEGER NOT NULL DEFAULT 268435455',
  `UPDATE monitor_states SET reason = (SELECT reason FROM transitions
    WHERE monitor_id = monitor_states.monitor_id ORDER BY id DESC LIMIT 1)`,
  // Votes that ended: results of their slots do not vote again.
  "UPDATE monitor_states SET floor_slot = decided_slot WHERE votes = '[]'",
  // A row with `from_status` = `to_status` is an interval: the reason was first given at `at` and last at
  // `until`, by `slots` decided slots. Older rows are intervals of one slot.
  'ALTER TABLE transitions ADD COLUMN until INTEGER',
  'ALTER TABLE transitions ADD COLUMN slots INTEGER',
  'UPDATE transitions SET until = at, slots = 1 WHERE from_status = to_status',
  'CREATE INDEX transitions_intervals ON transitions (monitor_id, at) WHERE from_status = to_status',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
