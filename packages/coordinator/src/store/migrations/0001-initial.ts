import { type Kysely, sql } from 'kysely';

/**
 * All instants are epoch milliseconds. Columns named `*_sealed` hold AES-256-GCM cipher text. `owner` is
 * 'file' for rows that the declared file owns, otherwise null; `local_name` is then the row's key in the
 * file. `row_version` grows with every write of the row.
 */
const STATEMENTS = [
  `CREATE TABLE workspaces (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL)`,
  `CREATE TABLE tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id INTEGER NOT NULL REFERENCES workspaces,
    name TEXT NOT NULL, scope TEXT NOT NULL CHECK (scope IN ('read', 'write')),
    hash TEXT NOT NULL UNIQUE, is_operator INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL, revoked_at INTEGER)`,
  // Attributes that every kind has are columns. The kind's own attributes are JSON; their secret parts
  // (header values) are separate and sealed.
  `CREATE TABLE monitors (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id INTEGER NOT NULL REFERENCES workspaces,
    type TEXT NOT NULL CHECK (type IN ('http', 'tcp', 'dns')), name TEXT NOT NULL,
    active INTEGER NOT NULL, attributes TEXT NOT NULL, secrets_sealed BLOB,
    probe_version INTEGER NOT NULL DEFAULT 1, activated_at INTEGER NOT NULL,
    owner TEXT, local_name TEXT, row_version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)`,
  'CREATE INDEX monitors_workspace ON monitors (workspace_id, id)',
  `CREATE TABLE notifications (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id INTEGER NOT NULL REFERENCES workspaces,
    name TEXT, provider_type TEXT NOT NULL, settings_sealed BLOB NOT NULL,
    state TEXT NOT NULL DEFAULT 'ok' CHECK (state IN ('ok', 'failing')), state_reason TEXT,
    owner TEXT, local_name TEXT, row_version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)`,
  'CREATE INDEX notifications_workspace ON notifications (workspace_id, id)',
  // A link enables a channel for a monitor. It remembers the status that the channel was last told.
  `CREATE TABLE links (
    monitor_id INTEGER NOT NULL REFERENCES monitors ON DELETE CASCADE,
    notification_id INTEGER NOT NULL REFERENCES notifications ON DELETE CASCADE,
    announced TEXT NOT NULL DEFAULT 'active' CHECK (announced IN ('active', 'degraded', 'error')),
    incident TEXT, PRIMARY KEY (monitor_id, notification_id)) WITHOUT ROWID`,
  'CREATE INDEX links_notification ON links (notification_id, monitor_id)',
  `CREATE TABLE status_pages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id INTEGER NOT NULL REFERENCES workspaces,
    slug TEXT NOT NULL UNIQUE, custom_domain TEXT UNIQUE, attributes TEXT NOT NULL, secrets_sealed BLOB,
    published INTEGER NOT NULL DEFAULT 1, theme TEXT NOT NULL DEFAULT 'system',
    owner TEXT, local_name TEXT, row_version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)`,
  `CREATE TABLE component_groups (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id INTEGER NOT NULL REFERENCES workspaces,
    page_id INTEGER NOT NULL REFERENCES status_pages ON DELETE CASCADE, attributes TEXT NOT NULL,
    owner TEXT, local_name TEXT, row_version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)`,
  `CREATE TABLE components (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id INTEGER NOT NULL REFERENCES workspaces,
    page_id INTEGER NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    group_id INTEGER REFERENCES component_groups, monitor_id INTEGER REFERENCES monitors,
    attributes TEXT NOT NULL,
    owner TEXT, local_name TEXT, row_version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)`,
  'CREATE INDEX component_groups_page ON component_groups (page_id, id)',
  'CREATE INDEX components_page ON components (page_id, id)',
  'CREATE INDEX components_group ON components (group_id) WHERE group_id IS NOT NULL',
  'CREATE INDEX components_monitor ON components (monitor_id) WHERE monitor_id IS NOT NULL',
  // One row per monitor: the state that the evaluation needs after a restart. `votes` is a JSON array of
  // votes.
  `CREATE TABLE monitor_states (
    monitor_id INTEGER PRIMARY KEY REFERENCES monitors ON DELETE CASCADE,
    status TEXT NOT NULL CHECK (status IN ('active', 'degraded', 'error', 'unknown')),
    since INTEGER NOT NULL, decided_slot INTEGER NOT NULL DEFAULT 0, votes TEXT NOT NULL DEFAULT '[]',
    incident TEXT)`,
  // The key begins with the slot: rows that are recorded together lie together, and expired rows are one
  // range. `detail` is JSON, see `result-detail.ts`.
  `CREATE TABLE results (
    slot INTEGER NOT NULL, monitor_id INTEGER NOT NULL, region TEXT NOT NULL,
    outcome TEXT NOT NULL, version INTEGER NOT NULL, latency REAL, status_code INTEGER,
    error_message TEXT, detail TEXT, agent TEXT, recorded_at INTEGER NOT NULL,
    PRIMARY KEY (slot, monitor_id, region)) WITHOUT ROWID`,
  // Reads of one monitor's results look at the slots that it can have had: those on the grid of its period,
  // and those in this table. The latter were given off the grid, or on the grid of an earlier period.
  `CREATE TABLE off_grid_slots (
    monitor_id INTEGER NOT NULL, slot INTEGER NOT NULL, PRIMARY KEY (monitor_id, slot)) WITHOUT ROWID`,
  // For the retention.
  'CREATE INDEX off_grid_slots_slot ON off_grid_slots (slot)',
  `CREATE TABLE transitions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, monitor_id INTEGER NOT NULL, from_status TEXT NOT NULL,
    to_status TEXT NOT NULL, reason TEXT NOT NULL, at INTEGER NOT NULL, slot INTEGER,
    votes TEXT NOT NULL, incident TEXT)`,
  'CREATE INDEX transitions_monitor ON transitions (monitor_id, id)',
  `CREATE TABLE incidents (
    key TEXT PRIMARY KEY, monitor_id INTEGER NOT NULL, opened_at INTEGER NOT NULL,
    closed_at INTEGER, closure TEXT) WITHOUT ROWID`,
  'CREATE INDEX incidents_monitor ON incidents (monitor_id, opened_at)',
  // The outbox and, after sending, the ledger. `alert` is the JSON snapshot; `uid` is the webhook-id.
  // `attempts` counts all attempts; after a replay the schedule starts anew at `replayed_at`. The
  // `monitor_id` of a test alert is 0.
  `CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL UNIQUE,
    notification_id INTEGER NOT NULL REFERENCES notifications ON DELETE CASCADE,
    monitor_id INTEGER NOT NULL, alert TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'dead')),
    attempts INTEGER NOT NULL DEFAULT 0, next_attempt_at INTEGER, last_error TEXT,
    created_at INTEGER NOT NULL, replayed_at INTEGER, finished_at INTEGER)`,
  "CREATE INDEX deliveries_pending ON deliveries (notification_id, monitor_id, id) WHERE state = 'pending'",
  'CREATE INDEX deliveries_channel ON deliveries (notification_id, id)',
  // For the retention.
  'CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL',
  `CREATE TABLE delivery_attempts (
    delivery_id INTEGER NOT NULL REFERENCES deliveries ON DELETE CASCADE, number INTEGER NOT NULL,
    at INTEGER NOT NULL, duration REAL NOT NULL, outcome TEXT NOT NULL, status_code INTEGER, error TEXT,
    PRIMARY KEY (delivery_id, number)) WITHOUT ROWID`,
  `CREATE TABLE stream_position (
    id INTEGER PRIMARY KEY CHECK (id = 1), stream_created TEXT NOT NULL, sequence INTEGER NOT NULL,
    message_id TEXT NOT NULL, message_time INTEGER NOT NULL)`,
  // `last_seen_at`: the last time the region had a live agent, written at least once a minute while it has
  // one.
  'CREATE TABLE region_presence (region TEXT PRIMARY KEY, last_seen_at INTEGER NOT NULL) WITHOUT ROWID',
  // Intervals without a live agent; `ended_at` null while it lasts.
  `CREATE TABLE region_absences (
    id INTEGER PRIMARY KEY AUTOINCREMENT, region TEXT NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER)`,
  // job_key, declared_digest …
  'CREATE TABLE facts (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID',
  // Results of POST requests with an `Idempotency-Key`; `fingerprint` is a hash of path and body.
  `CREATE TABLE idempotency_keys (
    workspace_id INTEGER NOT NULL REFERENCES workspaces, key TEXT NOT NULL, fingerprint TEXT NOT NULL,
    resource_id INTEGER NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (workspace_id, key)) WITHOUT ROWID`,
  'CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at)',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
}
