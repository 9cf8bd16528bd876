import { type Kysely, sql } from 'kysely';

/*
 * The tables are made anew: a delivery has no foreign key any more, so that a channel with many deliveries is
 * removed at once and its deliveries in small steps after it. Ids of channels are not given twice.
 */
const TABLES = [
  // `state`: pending, delivered, dead or superseded. `incident` and `status` are those of the alert; null:
  // the alert cannot be read.
  `CREATE TABLE ledger (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL UNIQUE,
    notification_id INTEGER NOT NULL, monitor_id INTEGER NOT NULL, alert TEXT NOT NULL,
    incident TEXT, status TEXT, state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, next_attempt_at INTEGER, last_error TEXT,
    created_at INTEGER NOT NULL, replayed_at INTEGER, finished_at INTEGER)`,
  // `outcome` is that of the kind of channel, `reason` says more about a failure, `reply` is what the receiver
  // answered, shortened and masked. `next_attempt_at`: null after the last attempt.
  `CREATE TABLE ledger_attempts (
    delivery_id INTEGER NOT NULL REFERENCES ledger ON DELETE CASCADE, number INTEGER NOT NULL,
    at INTEGER NOT NULL, duration REAL NOT NULL, outcome TEXT NOT NULL, status_code INTEGER, error TEXT,
    reason TEXT, reply TEXT, next_attempt_at INTEGER, PRIMARY KEY (delivery_id, number)) WITHOUT ROWID`,
  // The incidents that a channel has, or may have, heard of. `thread`: what its kind keeps between the alerts
  // of an incident. `at`: the last alert.
  `CREATE TABLE delivery_threads (
    notification_id INTEGER NOT NULL, incident TEXT NOT NULL, thread TEXT, at INTEGER NOT NULL,
    PRIMARY KEY (notification_id, incident)) WITHOUT ROWID`,
];

const MOVES = [
  `INSERT INTO ledger (id, uid, notification_id, monitor_id, alert, incident, status, state, attempts,
      next_attempt_at, last_error, created_at, replayed_at, finished_at)
    SELECT id, uid, notification_id, monitor_id, alert,
      CASE WHEN json_valid(alert) THEN json_extract(alert, '$.incident') END,
      CASE WHEN json_valid(alert) THEN json_extract(alert, '$.status') END,
      state, attempts, next_attempt_at, last_error, created_at, replayed_at, finished_at
    FROM deliveries`,
  `INSERT INTO ledger_attempts (delivery_id, number, at, duration, outcome, status_code, error)
    SELECT delivery_id, number, at, duration, outcome, status_code, error FROM delivery_attempts`,
  "DELETE FROM sqlite_sequence WHERE name = 'ledger'",
  "INSERT INTO sqlite_sequence SELECT 'ledger', seq FROM sqlite_sequence WHERE name = 'deliveries'",
  // The attempts go first, so that they do not hang on what is dropped.
  'DROP TABLE delivery_attempts',
  'DROP TABLE deliveries',
  'ALTER TABLE ledger RENAME TO deliveries',
  'ALTER TABLE ledger_attempts RENAME TO delivery_attempts',
];

const AFTER = [
  "CREATE INDEX deliveries_pending ON deliveries (notification_id, monitor_id, id) WHERE state = 'pending'",
  'CREATE INDEX deliveries_channel ON deliveries (notification_id, id)',
  // For the retention.
  'CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL',
  'CREATE INDEX delivery_threads_at ON delivery_threads (at)',
  // What was announced before: by what links remember, and by what was sent.
  `INSERT INTO delivery_threads (notification_id, incident, at)
    SELECT notification_id, incident, unixepoch() * 1000 FROM (
      SELECT notification_id, incident FROM links WHERE announced <> 'active'
      UNION SELECT notification_id, incident FROM deliveries WHERE attempts > 0 AND state <> 'dead')
    WHERE incident IS NOT NULL`,
  // Since when a channel is stopped, because its address is dead; null: it is not.
  'ALTER TABLE notifications ADD COLUMN stopped_at INTEGER',
  // The log of changes gets another kind of entry. A version that does not know a kind does not read it.
  'ALTER TABLE changes RENAME TO former_changes',
  `CREATE TABLE changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL,
    monitor_id INTEGER, notification_id INTEGER, detail TEXT)`,
  `INSERT INTO changes (id, kind, monitor_id, notification_id, detail)
    SELECT id, kind, monitor_id, notification_id, detail FROM former_changes`,
  "DELETE FROM sqlite_sequence WHERE name = 'changes'",
  "INSERT INTO sqlite_sequence SELECT 'changes', seq FROM sqlite_sequence WHERE name = 'former_changes'",
  'DROP TABLE former_changes',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of [...TABLES, ...MOVES, ...AFTER]) await sql.raw(statement).execute(db);
}
