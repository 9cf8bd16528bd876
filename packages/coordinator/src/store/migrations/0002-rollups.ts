import { type Kysely, sql } from 'kysely';

/**
 * Roll-ups start empty, also in a database with results: rolling up begins with the oldest result and
 * proceeds to the present.
 */
const COUNTS = `passed INTEGER NOT NULL, degraded INTEGER NOT NULL, failed INTEGER NOT NULL,
    not_run INTEGER NOT NULL`;

const STATEMENTS = [
  // Counts of a monitor's results with a slot in the hour (or day, UTC) that begins at `at`. `latency` is a
  // histogram, see `domain/latency-histogram.ts`; null: no result has a latency that counts.
  `CREATE TABLE rollup_hours (
    monitor_id INTEGER NOT NULL, at INTEGER NOT NULL, region TEXT NOT NULL, ${COUNTS}, latency BLOB,
    PRIMARY KEY (monitor_id, at, region)) WITHOUT ROWID`,
  `CREATE TABLE rollup_days (
    monitor_id INTEGER NOT NULL, at INTEGER NOT NULL, region TEXT NOT NULL, ${COUNTS}, latency BLOB,
    PRIMARY KEY (monitor_id, at, region)) WITHOUT ROWID`,
  // ms of the day beginning at `at` during which the monitor had each status; the rest is not known. A
  // monitor with no known status that day has no row.
  `CREATE TABLE uptime_days (
    monitor_id INTEGER NOT NULL, at INTEGER NOT NULL, active_ms INTEGER NOT NULL,
    degraded_ms INTEGER NOT NULL, error_ms INTEGER NOT NULL, PRIMARY KEY (monitor_id, at)) WITHOUT ROWID`,
  // Progress of rolling up. Done are all hours before `hour`, and in `hour` the results whose slot lies less
  // than `phase` ms after a full half minute; all days before `day`, and in `day` the monitors up to
  // `after_monitor`. Results of the hour `results_from` and later are complete; the retention has deleted
  // some of the older ones.
  `CREATE TABLE rollup_progress (
    id INTEGER PRIMARY KEY CHECK (id = 1), hour INTEGER NOT NULL, phase INTEGER NOT NULL,
    day INTEGER NOT NULL, after_monitor INTEGER NOT NULL, results_from INTEGER NOT NULL DEFAULT 0)`,
  // Hours that got a result after they were rolled up, or shortly before. `marks` grows with each such
  // result.
  `CREATE TABLE rollup_repairs (
    hour INTEGER NOT NULL, monitor_id INTEGER NOT NULL, marks INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (hour, monitor_id)) WITHOUT ROWID`,
  // Deleted monitors that still have roll-ups.
  'CREATE TABLE removed_monitors (monitor_id INTEGER PRIMARY KEY)',
  `CREATE TRIGGER monitors_removed AFTER DELETE ON monitors BEGIN
    INSERT OR IGNORE INTO removed_monitors (monitor_id) VALUES (old.id);
  END`,
  // Serves a monitor's status at an instant and its changes in a time range, without reading the rows.
  `CREATE INDEX transitions_changes ON transitions (monitor_id, at, id, to_status)
    WHERE from_status <> to_status`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
