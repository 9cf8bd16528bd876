import { type Kysely, sql } from 'kysely';

/**
 * Roll-ups start empty, also where there are results already: what rolls up begins with the oldest
 * result and works its way to the present.
 */
const COUNTS = `passed INTEGER NOT NULL, degraded INTEGER NOT NULL, failed INTEGER NOT NULL,
    not_run INTEGER NOT NULL`;

const STATEMENTS = [
  // Of a monitor's results with a slot in the hour (or day, UTC) that begins at `at`. `latency` is a
  // histogram, see `domain/latency-histogram.ts`; null: no result has one that counts.
  `CREATE TABLE rollup_hours (
    monitor_id INTEGER NOT NULL, at INTEGER NOT NULL, region TEXT NOT NULL, ${COUNTS}, latency BLOB,
    PRIMARY KEY (monitor_id, at, region)) WITHOUT ROWID`,
  `CREATE TABLE rollup_days (
    monitor_id INTEGER NOT NULL, at INTEGER NOT NULL, region TEXT NOT NULL, ${COUNTS}, latency BLOB,
    PRIMARY KEY (monitor_id, at, region)) WITHOUT ROWID`,
  // ms of the day that begins at `at` in which the monitor had the status; the rest is not known.
  // A monitor of which nothing is known has no row.
  `CREATE TABLE uptime_days (
    monitor_id INTEGER NOT NULL, at INTEGER NOT NULL, active_ms INTEGER NOT NULL,
    degraded_ms INTEGER NOT NULL, error_ms INTEGER NOT NULL, PRIMARY KEY (monitor_id, at)) WITHOUT ROWID`,
  // How far it is: all hours before `hour`, and of `hour` the results whose slot lies less than `phase`
  // ms after a full half minute; all days before `day`, and of `day` the monitors up to `after_monitor`.
  // Results of the hour `results_from` and later ones are complete; of older ones the retention has deleted some.
  `CREATE TABLE rollup_progress (
    id INTEGER PRIMARY KEY CHECK (id = 1), hour INTEGER NOT NULL, phase INTEGER NOT NULL,
    day INTEGER NOT NULL, after_monitor INTEGER NOT NULL, results_from INTEGER NOT NULL DEFAULT 0)`,
  // Hours with a result that was recorded when they were rolled up, or about to be. `marks` grows with each.
  `CREATE TABLE rollup_repairs (
    hour INTEGER NOT NULL, monitor_id INTEGER NOT NULL, marks INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (hour, monitor_id)) WITHOUT ROWID`,
  // Deleted monitors that still have roll-ups.
  'CREATE TABLE removed_monitors (monitor_id INTEGER PRIMARY KEY)',
  `CREATE TRIGGER monitors_removed AFTER DELETE ON monitors BEGIN
    INSERT OR IGNORE INTO removed_monitors (monitor_id) VALUES (old.id);
  END`,
  // A monitor's status at an instant, and its changes in a time, without the rows.
  `CREATE INDEX transitions_changes ON transitions (monitor_id, at, id, to_status)
    WHERE from_status <> to_status`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
