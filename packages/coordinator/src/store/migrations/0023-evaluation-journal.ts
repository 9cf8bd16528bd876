import { type Kysely, sql } from 'kysely';

const STATEMENTS = [
  // When the outcome was evaluated, ms after its slot on the slots' clock; null: `decided_after` says it, or the
  // row is from before this migration.
  'ALTER TABLE results ADD COLUMN evaluated_after INTEGER',
  // Its place among the rows and journal entries of the monitor with the same instant; null: the first.
  'ALTER TABLE results ADD COLUMN evaluated_place INTEGER',
  // The regions that were given the slot, bit by bit; null: those that the monitor declares; 0: not known.
  'ALTER TABLE results ADD COLUMN given INTEGER',
  // What the evaluation was told of a monitor beside outcomes. `monitor_id` 0: of all monitors. `at` is on the
  // slots' clock.
  `CREATE TABLE evaluation_journal (
    monitor_id INTEGER NOT NULL, at INTEGER NOT NULL, place INTEGER NOT NULL, event TEXT NOT NULL,
    PRIMARY KEY (monitor_id, at, place)) WITHOUT ROWID`,
  // For the retention.
  'CREATE INDEX evaluation_journal_at ON evaluation_journal (at)',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
