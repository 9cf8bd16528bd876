import type { Kysely } from 'kysely';
import { definition, triggerDefinition } from '../dialect.ts';
import { POSTGRES_ONLY } from './postgres-only.ts';
import { SHOWN_VERSIONS } from './shown-versions.ts';

/*
 * The tables of the database. Until version 0.1 is released, changes of the tables are made in this
 * migration, and databases of earlier commits are not migrated. From that release on, this file never
 * changes, and each change of the tables is a further migration.
 *
 * Instants are epoch milliseconds, unless a comment says otherwise. Columns named `*_sealed` hold AES-256-GCM
 * cipher text. `owner` is 'file' for rows that the declared file owns, otherwise null. `local_name` is the key
 * of the row in the declared file; null: no file has declared the row. A row that a start without a declared
 * file released keeps its `local_name`. `row_version` grows with each change of what people declare or write in
 * the row.
 */

const ACCESS = [
  `CREATE TABLE workspaces (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL)`,
  `CREATE TABLE tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id INTEGER NOT NULL REFERENCES workspaces,
    name TEXT NOT NULL, scope TEXT NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
    hash TEXT NOT NULL UNIQUE, is_operator INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL, created_by INTEGER, expires_at INTEGER, last_used_at INTEGER,
    revoked_at INTEGER)`,
  'CREATE INDEX tokens_created_by ON tokens (created_by) WHERE created_by IS NOT NULL',
  // The audit trail: actions and refusals. It has no foreign keys, because a line outlives the rows that it
  // describes.
  `CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, workspace_id INTEGER, actor TEXT NOT NULL,
    token_id INTEGER, token_name TEXT, action TEXT NOT NULL, object TEXT NOT NULL, outcome TEXT NOT NULL,
    status INTEGER, request_id TEXT, peer TEXT, detail TEXT)`,
  'CREATE INDEX audit_workspace ON audit (workspace_id, id)',
  'CREATE INDEX audit_token ON audit (token_id, id)',
  'CREATE INDEX audit_object ON audit (object, id)',
  'CREATE INDEX audit_outcome ON audit (outcome, id)',
  'CREATE INDEX audit_at ON audit (at)',
  // Sessions of the dashboard and of visitors of pages, and links that work once. Only hashes of their secrets are
  // kept. A subject is `token:<id>` or `page:<id>`. It refers to one of two tables, so it is no foreign key.
  `CREATE TABLE sessions (
    hash TEXT PRIMARY KEY, subject TEXT NOT NULL, credential TEXT NOT NULL, created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL)`,
  'CREATE INDEX sessions_subject ON sessions (subject)',
  'CREATE INDEX sessions_expiry ON sessions (expires_at)',
  `CREATE TABLE one_time_links (
    hash TEXT PRIMARY KEY, purpose TEXT NOT NULL, detail TEXT NOT NULL, expires_at INTEGER NOT NULL)`,
  'CREATE INDEX one_time_links_expiry ON one_time_links (expires_at)',
  // Results of POST requests with an `Idempotency-Key`. `fingerprint` is a hash of the path and the body.
  `CREATE TABLE idempotency_keys (
    workspace_id INTEGER NOT NULL REFERENCES workspaces, key TEXT NOT NULL, fingerprint TEXT NOT NULL,
    resource_id INTEGER NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (workspace_id, key)) WITHOUT ROWID`,
  'CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at)',
  // Single values, see `facts.ts`.
  'CREATE TABLE facts (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID',
];

const DECLARED = [
  // Type, name and `active` are columns, because lists are searched or sorted by them. All other attributes
  // (also the attributes that every kind has, such as `periodicity`) are JSON. The secret parts of
  // attributes, header values for example, are separate and sealed. If this version does not know the type of
  // a row, the reader of the row refuses it.
  `CREATE TABLE monitors (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id INTEGER NOT NULL REFERENCES workspaces,
    type TEXT NOT NULL, name TEXT NOT NULL,
    active INTEGER NOT NULL, attributes TEXT NOT NULL, secrets_sealed BLOB,
    probe_version INTEGER NOT NULL DEFAULT 1, activated_at INTEGER NOT NULL,
    owner TEXT, local_name TEXT, row_version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)`,
  // The queries for lists by name or type, and for the overview, read only these indexes. The rows of the
  // table are much larger, because attributes take some kilobytes.
  'CREATE INDEX monitors_names ON monitors (workspace_id, id, name, type)',
  'CREATE INDEX monitors_overview ON monitors (workspace_id, id, active, name, type)',
  // Deleted monitors that may still have roll-ups; see `REMOVED`.
  'CREATE TABLE removed_monitors (monitor_id INTEGER PRIMARY KEY)',
  // `stopped_at`: when the channel was stopped because its address is dead; null: it is not stopped. `kept`:
  // the text that the channel's code stores for the channel, such as the new id of a chat; null: no text.
  `CREATE TABLE notifications (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id INTEGER NOT NULL REFERENCES workspaces,
    name TEXT, provider_type TEXT NOT NULL, settings_sealed BLOB NOT NULL,
    state TEXT NOT NULL DEFAULT 'ok' CHECK (state IN ('ok', 'failing')), state_reason TEXT,
    owner TEXT, local_name TEXT, row_version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    stopped_at INTEGER, group_alerts INTEGER NOT NULL DEFAULT 1, kept TEXT,
    notify_unknown INTEGER NOT NULL DEFAULT 1, remind_every_ms INTEGER)`,
  'CREATE INDEX notifications_workspace ON notifications (workspace_id, id)',
  // A link enables a channel for a monitor. `version` is the channel's `row_version` when the link was made,
  // or when the channel's kind last changed. `announced` and `incident`: the status and the incident that were
  // announced to the channel and are not over for it; `active` and null: none.
  `CREATE TABLE links (
    monitor_id INTEGER NOT NULL REFERENCES monitors ON DELETE CASCADE,
    notification_id INTEGER NOT NULL REFERENCES notifications ON DELETE CASCADE,
    version INTEGER NOT NULL,
    announced TEXT NOT NULL DEFAULT 'active' CHECK (announced IN ('active', 'degraded', 'error')),
    incident TEXT, PRIMARY KEY (monitor_id, notification_id)) WITHOUT ROWID`,
  'CREATE INDEX links_notification ON links (notification_id, monitor_id)',
  // Reminders look here for the alerts that are open.
  "CREATE INDEX links_alerted ON links (monitor_id, notification_id) WHERE announced <> 'active'",
  // `number`: how often a channel was reminded of an incident; `at`: when the last reminder was queued. A row is
  // ignored if its incident is not that of the link.
  `CREATE TABLE reminders (
    monitor_id INTEGER NOT NULL REFERENCES monitors ON DELETE CASCADE,
    notification_id INTEGER NOT NULL REFERENCES notifications ON DELETE CASCADE,
    incident TEXT NOT NULL, number INTEGER NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (monitor_id, notification_id)) WITHOUT ROWID`,
  'CREATE INDEX reminders_notification ON reminders (notification_id)',
  // `latency`: the time over which the page shows how fast its monitors answer: `24h` or `7d`; `none`: the
  // page does not show it. `shown_version`: see `shown-versions.ts`.
  `CREATE TABLE status_pages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id INTEGER NOT NULL REFERENCES workspaces,
    slug TEXT NOT NULL UNIQUE, custom_domain TEXT, attributes TEXT NOT NULL, secrets_sealed BLOB,
    published INTEGER NOT NULL DEFAULT 1, theme TEXT NOT NULL DEFAULT 'system',
    owner TEXT, local_name TEXT, row_version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, latency TEXT NOT NULL DEFAULT 'none',
    shown_version INTEGER NOT NULL DEFAULT 1,
    UNIQUE (workspace_id, custom_domain))`,
  `CREATE TABLE component_groups (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id INTEGER NOT NULL REFERENCES workspaces,
    page_id INTEGER NOT NULL REFERENCES status_pages ON DELETE CASCADE, attributes TEXT NOT NULL,
    owner TEXT, local_name TEXT, row_version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)`,
  'CREATE INDEX component_groups_page ON component_groups (page_id, id)',
  `CREATE TABLE components (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id INTEGER NOT NULL REFERENCES workspaces,
    page_id INTEGER NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    group_id INTEGER REFERENCES component_groups, monitor_id INTEGER REFERENCES monitors,
    attributes TEXT NOT NULL,
    owner TEXT, local_name TEXT, row_version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)`,
  'CREATE INDEX components_page ON components (page_id, id)',
  'CREATE INDEX components_group ON components (group_id) WHERE group_id IS NOT NULL',
  'CREATE INDEX components_monitor ON components (monitor_id) WHERE monitor_id IS NOT NULL',
  // The log of changes of the declaration whose effects (votes that end, announcements, scheduling) are not
  // applied yet, see `changes.ts`. Ids grow in the order of the commits. `shard`: the shard whose leader
  // applies the entry. `detail` is JSON: the content of removed rows, the version of links, or the id of a
  // maintenance window.
  `CREATE TABLE changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, shard INTEGER NOT NULL, kind TEXT NOT NULL,
    monitor_id INTEGER, notification_id INTEGER, detail TEXT)`,
];

/**
 * The shards and their leases, see `shard-lease.ts`. The number of rows is the number of shards. `term` is
 * drawn at random each time a coordinator takes the lease; '': no coordinator has taken it yet, or the last one
 * has resigned. When the row has got another term, the constraint refuses the writes of the former leader.
 * `writes` counts the transactions of this term. `holder` and `epoch` (how often the lease was taken) are only
 * for people. `coordinator`: the id of the holder in `coordinators`. `expires_at` is an instant of the
 * database's clock.
 */
export const SHARDS = `CREATE TABLE shards (
  id INTEGER PRIMARY KEY, holder TEXT NOT NULL, coordinator TEXT NOT NULL,
  term TEXT CONSTRAINT not_leading CHECK (term IS NOT NULL),
  writes INTEGER NOT NULL, epoch INTEGER NOT NULL, expires_at INTEGER NOT NULL)`;

const EVALUATION = [
  // The results of regions about a slot of a monitor. The key begins with the slot. So rows that are
  // recorded together lie together, and expired rows are one range. A row has 31 regions, and `part` says
  // which: 0 is the row of the regions with the numbers 0 to 30, 1 that of 31 to 61, and so on; see
  // `results/region-numbers.ts`. `regions` has a bit for each region of the row with
  // a report. `not_run` has a bit for each region whose reports are all `not_run`. `reports`: see
  // `results/report-bytes.ts`. `INT` takes four bytes in PostgreSQL, and as few bytes as possible in SQLite.
  `CREATE TABLE slot_results (
    slot INTEGER NOT NULL, monitor_id INT NOT NULL, part SMALLINT NOT NULL, regions INT NOT NULL,
    not_run INT NOT NULL, reports BLOB NOT NULL, PRIMARY KEY (slot, monitor_id, part)) WITHOUT ROWID
    /* PostgreSQL: PARTITION BY RANGE (slot) */`,
  // Regions of one's own. The id gives the number in packed results, see `results/region-numbers.ts`. A row is
  // never deleted, so a number means the same region for ever.
  'CREATE TABLE own_regions (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE)',
  // The names of agents by the numbers that reports give them. `noted_on`: beginning of the last day (UTC) on
  // which the agent reported.
  'CREATE TABLE agent_names (number INTEGER PRIMARY KEY, name TEXT NOT NULL, noted_on INTEGER NOT NULL)',
  // The retention finds the rows to delete by this index.
  'CREATE INDEX agent_names_noted ON agent_names (noted_on)',
  // Slots of a monitor that are not on its grid. A reader of one monitor's results looks
  // up the slots on the grid and the slots in this table.
  `CREATE TABLE off_grid_slots (
    monitor_id INTEGER NOT NULL, slot INTEGER NOT NULL, PRIMARY KEY (monitor_id, slot)) WITHOUT ROWID`,
  // The retention finds the rows to delete by this index.
  'CREATE INDEX off_grid_slots_slot ON off_grid_slots (slot)',
  // One row for each monitor: the state that the evaluation needs after a restart, without
  // the votes; see `MonitorState`. `version`: the version of the probed attributes that the votes
  // belong to. Results of slots up to `floor_slot` never vote. `entered`: regions that were given
  // a slot, joined by commas. `status_slot` identifies the last change to a status other than
  // `unknown`. `shown_version`: see `shown-versions.ts`.
  `CREATE TABLE monitor_states (
    monitor_id INTEGER PRIMARY KEY REFERENCES monitors ON DELETE CASCADE,
    status TEXT NOT NULL CHECK (status IN ('active', 'degraded', 'error', 'unknown')),
    status_slot INTEGER NOT NULL DEFAULT 0, since INTEGER NOT NULL, incident TEXT, reason TEXT, version INTEGER,
    floor_slot INTEGER NOT NULL DEFAULT 0, entered TEXT NOT NULL DEFAULT '',
    shown_version INTEGER NOT NULL DEFAULT 1)`,
  // One row for each monitor, written with each slot. The key begins with the monitor's place in
  // the half minute, so rows of monitors that are due together lie together. `votes`, `open_slots`
  // and `verdicts` are JSON, see `stored-votes.ts`. `open_slots`: undecided slots with their
  // reports; null: none is stored. `verdicts`: the verdicts of the newest slots; null: none is
  // kept. `written_at` is on the slots' clock.
  `CREATE TABLE monitor_votes (
    place INTEGER NOT NULL, monitor_id INTEGER NOT NULL, decided_slot INTEGER NOT NULL,
    written_at INTEGER NOT NULL, votes TEXT NOT NULL, open_slots TEXT, verdicts TEXT,
    PRIMARY KEY (place, monitor_id)) WITHOUT ROWID`,
  // A row with `from_status` = `to_status` is an interval: the reason was first given at `at` and last at
  // `until`, by `slots` verdicts; see `ReasonInterval`. In other rows, `until` and `slots` are null.
  `CREATE TABLE transitions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, monitor_id INTEGER NOT NULL, from_status TEXT NOT NULL,
    to_status TEXT NOT NULL, reason TEXT NOT NULL, at INTEGER NOT NULL, slot INTEGER,
    votes TEXT NOT NULL, incident TEXT, until INTEGER, slots INTEGER)`,
  'CREATE INDEX transitions_monitor ON transitions (monitor_id, id)',
  // This index serves queries for a monitor's status at an instant and for its changes
  // in a time range. These queries do not read the rows.
  `CREATE INDEX transitions_changes ON transitions (monitor_id, at, id, to_status)
    WHERE from_status <> to_status`,
  'CREATE INDEX transitions_intervals ON transitions (monitor_id, at) WHERE from_status = to_status',
  // The retention finds the rows to delete by these two indexes. Each row is in exactly one of them, because
  // changes and intervals are kept for different times.
  'CREATE INDEX transitions_changed ON transitions (at, id, monitor_id) WHERE from_status <> to_status',
  'CREATE INDEX transitions_reasons ON transitions (at) WHERE from_status = to_status',
  // Notices about monitors that have begun and are not over, see `verdict/monitor-notices.ts`. `region`: the
  // region that fails alone; empty: the monitor has no data. `key`: the `incident` of the notice's deliveries.
  // `told`: JSON, the channels that got the notice, each with the version of its link.
  `CREATE TABLE monitor_notices (
    monitor_id INTEGER NOT NULL REFERENCES monitors ON DELETE CASCADE, region TEXT NOT NULL,
    since INTEGER NOT NULL, key TEXT NOT NULL, told TEXT NOT NULL,
    PRIMARY KEY (monitor_id, region)) WITHOUT ROWID`,
  `CREATE TABLE stream_positions (
    stream TEXT PRIMARY KEY, stream_created TEXT NOT NULL, sequence INTEGER NOT NULL,
    message_id TEXT NOT NULL, message_time INTEGER NOT NULL) WITHOUT ROWID`,
  SHARDS,
  `INSERT INTO shards (id, holder, coordinator, term, writes, epoch, expires_at) VALUES (0, '', '', '', 0, 0, 0)`,
  // The coordinators that can lead. `seen_at` is an instant of the database's clock. A coordinator
  // writes it each second while it is connected to NATS.
  'CREATE TABLE coordinators (id TEXT PRIMARY KEY, seen_at INTEGER NOT NULL) WITHOUT ROWID',
  // `last_seen_at`: the last time at which the region had a live agent. It is written at
  // least once a minute while the region has a live agent.
  'CREATE TABLE region_presence (region TEXT PRIMARY KEY, last_seen_at INTEGER NOT NULL) WITHOUT ROWID',
  // Intervals in which a region had no live agent. `ended_at` is null while the interval lasts.
  `CREATE TABLE region_absences (
    id INTEGER PRIMARY KEY AUTOINCREMENT, region TEXT NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER)`,
  'CREATE INDEX region_absences_ended ON region_absences (ended_at) WHERE ended_at IS NOT NULL',
  'CREATE INDEX region_absences_lasting ON region_absences (region, started_at) WHERE ended_at IS NULL',
];

const COUNTS = `passed INTEGER NOT NULL, degraded INTEGER NOT NULL, failed INTEGER NOT NULL,
    not_run INTEGER NOT NULL`;

const TOTALS = [
  // Counts of a monitor's results from one region, by outcome. Their slots are in the hour
  // (or day, UTC) that begins at `at`. `latency` is a histogram, see
  // `verdict/latency-histogram.ts`; null: no result has a latency that counts.
  `CREATE TABLE rollup_hours (
    monitor_id INTEGER NOT NULL, at INTEGER NOT NULL, region TEXT NOT NULL, ${COUNTS}, latency BLOB,
    PRIMARY KEY (monitor_id, at, region)) WITHOUT ROWID`,
  `CREATE TABLE rollup_days (
    monitor_id INTEGER NOT NULL, at INTEGER NOT NULL, region TEXT NOT NULL, ${COUNTS}, latency BLOB,
    PRIMARY KEY (monitor_id, at, region)) WITHOUT ROWID`,
  // How long the monitor had each status on the day (UTC) that begins at `at`, ms. The status is unknown for
  // the rest of the day. A day without a known status has no row.
  `CREATE TABLE uptime_days (
    monitor_id INTEGER NOT NULL, at INTEGER NOT NULL, active_ms INTEGER NOT NULL,
    degraded_ms INTEGER NOT NULL, error_ms INTEGER NOT NULL, PRIMARY KEY (monitor_id, at)) WITHOUT ROWID`,
  // Progress of the roll-ups. All hours before `hour` are done. In `hour`, the results are done whose slots
  // lie less than `phase` ms after a full half minute. All days before `day` are done. In `day`, the monitors
  // with ids up to `after_monitor` are done. All results of the hour `results_from` and of later hours are
  // still stored. The retention may have deleted older results.
  `CREATE TABLE rollup_progress (
    id INTEGER PRIMARY KEY CHECK (id = 1), hour INTEGER NOT NULL, phase INTEGER NOT NULL,
    day INTEGER NOT NULL, after_monitor INTEGER NOT NULL, results_from INTEGER NOT NULL DEFAULT 0)`,
  // Hours that must be rolled up again, with the times of their days, because a result came
  // after the roll-up or shortly before it, or a change of status was dated back. `marks` is the
  // number of these events.
  `CREATE TABLE rollup_repairs (
    hour INTEGER NOT NULL, monitor_id INTEGER NOT NULL, marks INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (hour, monitor_id)) WITHOUT ROWID`,
  // Counts of the export over OTLP (`export/`). `totals` is JSON and includes the notes up to `until`. A note
  // has the results of one batch of the recorder, as far as their monitors are exported. A note is deleted
  // when all totals include it. The leader of a shard assigns the ids of its notes. The ids only grow, also from a
  // leader to the next one, and when a monitor moves to another shard.
  `CREATE TABLE export_totals (
    monitor_id INTEGER PRIMARY KEY REFERENCES monitors ON DELETE CASCADE,
    until INTEGER NOT NULL, totals TEXT NOT NULL)`,
  `CREATE TABLE export_notes (
    shard INTEGER NOT NULL, id INTEGER NOT NULL, note BLOB NOT NULL, PRIMARY KEY (shard, id)) WITHOUT ROWID`,
];

const DELIVERY = [
  // The outbox and, after sending, the ledger. `uid` is sent as `webhook-id`. `alert` is JSON, see
  // `stored-alerts.ts`. `incident` and `status` are copies from it. `state`: pending, delivered, dead
  // or superseded. `attempts` is the number of all attempts. `tries` is the number of attempts since
  // the last replay, which was at `replayed_at`; null: it was never replayed. A delivery that is about
  // no monitor has a `monitor_id` of 0 or less. `group_uid`: the id of the grouped message in which
  // the delivery may have been sent; null: it was in no grouped message. A delivery has no foreign
  // key. So a channel with many deliveries is removed at once, and its deliveries are removed later
  // in small steps.
  //
  // `due_at`: when the delivery may be sent, if it is the oldest pending delivery of its monitor and channel;
  // 0: at once. Null: the delivery has ended, or waits behind an older delivery. `hastened`, 0 or 1: the
  // delivery became due before `next_attempt_at`, because another delivery to the channel succeeded or the
  // channel was changed. No further success makes it due early before an attempt at a regular time.
  `CREATE TABLE deliveries (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL UNIQUE,
    notification_id INTEGER NOT NULL, monitor_id INTEGER NOT NULL, alert TEXT NOT NULL,
    incident TEXT, status TEXT, state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, tries INTEGER NOT NULL DEFAULT 0, next_attempt_at INTEGER,
    last_error TEXT,
    created_at INTEGER NOT NULL, replayed_at INTEGER, finished_at INTEGER, group_uid TEXT,
    due_at INTEGER, hastened INTEGER NOT NULL DEFAULT 0)`,
  "CREATE INDEX deliveries_pending ON deliveries (notification_id, monitor_id, id) WHERE state = 'pending'",
  'CREATE INDEX deliveries_due ON deliveries (notification_id, due_at, id, monitor_id) WHERE due_at IS NOT NULL',
  'CREATE INDEX deliveries_channel ON deliveries (notification_id, id)',
  // This index serves replays and lists of dead deliveries. A channel
  // has few dead deliveries among many others.
  "CREATE INDEX deliveries_dead ON deliveries (notification_id, id) WHERE state = 'dead'",
  // This index serves queries for the newest deliveries about a monitor, to all channels.
  'CREATE INDEX deliveries_monitor ON deliveries (monitor_id, id)',
  // The retention finds the rows to delete by this index.
  'CREATE INDEX deliveries_finished ON deliveries (finished_at) WHERE finished_at IS NOT NULL',
  // `duration`: ms. `outcome`: the outcome that the channel's code returned. `reason`: more about a failure.
  // `reply`: the receiver's answer, shortened and masked. `next_attempt_at`: null after the last attempt.
  `CREATE TABLE delivery_attempts (
    delivery_id INTEGER NOT NULL REFERENCES deliveries ON DELETE CASCADE, number INTEGER NOT NULL,
    at INTEGER NOT NULL, duration REAL NOT NULL, outcome TEXT NOT NULL, status_code INTEGER, error TEXT,
    reason TEXT, reply TEXT, next_attempt_at INTEGER, PRIMARY KEY (delivery_id, number)) WITHOUT ROWID`,
  // The incidents that were announced, or may have been announced, to a channel.
  // `thread`: a text that the channel's code stores between the alerts of an incident,
  // such as a message's id. `at`: the time of the last alert.
  `CREATE TABLE delivery_threads (
    notification_id INTEGER NOT NULL, incident TEXT NOT NULL, thread TEXT, at INTEGER NOT NULL,
    PRIMARY KEY (notification_id, incident)) WITHOUT ROWID`,
  'CREATE INDEX delivery_threads_at ON delivery_threads (at)',
];

/** Maintenance windows, mutes and incidents. No declared file and no Terraform resource declares these rows. */
const NOTES = [
  // `repeat`: JSON, see `maintenance-windows.ts`; null: the window occurs once. `ended_at`: when an operator
  // ended the window; null: it was not ended.
  `CREATE TABLE maintenance_windows (
    id INTEGER PRIMARY KEY AUTOINCREMENT, workspace_id INTEGER NOT NULL REFERENCES workspaces,
    title TEXT NOT NULL, text TEXT NOT NULL, starts_at INTEGER NOT NULL, ends_at INTEGER NOT NULL,
    time_zone TEXT NOT NULL, repeat TEXT, ended_at INTEGER, row_version INTEGER NOT NULL DEFAULT 1,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)`,
  'CREATE INDEX maintenance_windows_workspace ON maintenance_windows (workspace_id, id)',
  // Monitors whose alerts a window holds.
  `CREATE TABLE maintenance_monitors (
    window_id INTEGER NOT NULL REFERENCES maintenance_windows ON DELETE CASCADE,
    monitor_id INTEGER NOT NULL REFERENCES monitors ON DELETE CASCADE,
    PRIMARY KEY (window_id, monitor_id)) WITHOUT ROWID`,
  'CREATE INDEX maintenance_monitors_monitor ON maintenance_monitors (monitor_id)',
  // Pages that a window names. They show the window even if they show none of its monitors. The next table
  // has the components that a window names.
  `CREATE TABLE maintenance_pages (
    window_id INTEGER NOT NULL REFERENCES maintenance_windows ON DELETE CASCADE,
    page_id INTEGER NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    PRIMARY KEY (window_id, page_id)) WITHOUT ROWID`,
  'CREATE INDEX maintenance_pages_page ON maintenance_pages (page_id)',
  `CREATE TABLE maintenance_components (
    window_id INTEGER NOT NULL REFERENCES maintenance_windows ON DELETE CASCADE,
    component_id INTEGER NOT NULL REFERENCES components ON DELETE CASCADE,
    PRIMARY KEY (window_id, component_id)) WITHOUT ROWID`,
  'CREATE INDEX maintenance_components_component ON maintenance_components (component_id)',
  // Monitors whose alerts are held until `muted_until`, which may have passed. `muted_by`: the name of the token.
  `CREATE TABLE mutes (
    monitor_id INTEGER PRIMARY KEY REFERENCES monitors ON DELETE CASCADE,
    muted_at INTEGER NOT NULL, muted_until INTEGER NOT NULL, muted_by TEXT NOT NULL)`,
  // Incidents of monitors, and incidents that people create. An incident that people create has
  // a title, and neither a key nor a monitor. Alerts and transitions contain the key. `impact`
  // is the operator's statement about the affected components. `acknowledged_by`: the name of the token.
  `CREATE TABLE incidents (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE, workspace_id INTEGER, monitor_id INTEGER,
    opened_at INTEGER NOT NULL, closed_at INTEGER, closure TEXT, title TEXT,
    impact TEXT NOT NULL DEFAULT 'none', row_version INTEGER NOT NULL DEFAULT 1,
    acknowledged_at INTEGER, acknowledged_by TEXT, acknowledged_note TEXT)`,
  'CREATE INDEX incidents_open ON incidents (monitor_id) WHERE closed_at IS NULL',
  'CREATE INDEX incidents_monitor ON incidents (monitor_id, opened_at)',
  'CREATE INDEX incidents_closed ON incidents (closed_at) WHERE closed_at IS NOT NULL',
  'CREATE INDEX incidents_workspace ON incidents (workspace_id, id)',
  'CREATE INDEX incidents_newest ON incidents (workspace_id, monitor_id, id)',
  'CREATE INDEX incidents_ongoing ON incidents (workspace_id, id) WHERE closed_at IS NULL',
  // Pages that an incident names. An incident without a row here is shown by the pages that show its monitor.
  `CREATE TABLE incident_pages (
    incident_id INTEGER NOT NULL REFERENCES incidents ON DELETE CASCADE,
    page_id INTEGER NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    PRIMARY KEY (incident_id, page_id)) WITHOUT ROWID`,
  'CREATE INDEX incident_pages_page ON incident_pages (page_id)',
  // Updates that people write about an incident. `component_ids`: JSON array of the affected components. Ids
  // grow in the order of the commits, so one id says which updates were announced to subscribers.
  `CREATE TABLE incident_updates (
    id INTEGER PRIMARY KEY AUTOINCREMENT, incident_id INTEGER NOT NULL REFERENCES incidents ON DELETE CASCADE,
    state TEXT NOT NULL, text TEXT NOT NULL, component_ids TEXT NOT NULL, at INTEGER NOT NULL,
    row_version INTEGER NOT NULL DEFAULT 1, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)`,
  'CREATE INDEX incident_updates_incident ON incident_updates (incident_id, id)',
];

/**
 * Visitors of status pages: who gets mails of a page, what was announced to
 * subscribers, where custom domains point, and the icons of pages.
 */
const VISITORS = [
  // A mail address to which a page sends mails. `subscription`: none (its owner only asked to sign
  // in), asked (not confirmed yet), confirmed, or stopped (the address is dead; `stopped_for` says
  // why). A delivery to the address has the negated id as its `notification_id`, so ids are never
  // reused. `credential`: the version of the credential with which the subscriber could see the
  // page when it subscribed, see `credential.ts`; null: not known.
  `CREATE TABLE page_recipients (
    id INTEGER PRIMARY KEY AUTOINCREMENT, page_id INTEGER NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    address TEXT NOT NULL, language TEXT NOT NULL, subscription TEXT NOT NULL DEFAULT 'none',
    stopped_for TEXT, created_at INTEGER NOT NULL, asked_at INTEGER NOT NULL, confirmed_at INTEGER,
    credential TEXT, UNIQUE (page_id, address))`,
  'CREATE INDEX page_recipients_page ON page_recipients (page_id, id)',
  // The retention finds the rows to delete by this index.
  `CREATE INDEX page_recipients_unconfirmed ON page_recipients (asked_at)
    WHERE subscription IN ('none', 'asked')`,
  // Announcements to subscribers of which not all mails are queued yet. `after_recipient`: the last recipient
  // whose mail is queued; 0: no mail is queued.
  `CREATE TABLE page_announcements (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL UNIQUE,
    page_id INTEGER NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    content TEXT NOT NULL, created_at INTEGER NOT NULL, after_recipient INTEGER NOT NULL DEFAULT 0)`,
  // The status of a monitor that was last announced to the subscribers of a page. No row: the status is
  // `active`.
  `CREATE TABLE page_told (
    page_id INTEGER NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    monitor_id INTEGER NOT NULL, status TEXT NOT NULL, PRIMARY KEY (page_id, monitor_id)) WITHOUT ROWID`,
  // The announcements of a maintenance window to the subscribers of a page. `announced_from`: beginning of
  // the occurrence that was announced in advance. `begun_from`: beginning of the occurrence that was
  // announced when it began. `is_over`, 0 or 1: the end of the occurrence of `begun_from` was announced too.
  `CREATE TABLE page_windows_told (
    page_id INTEGER NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    window_id INTEGER NOT NULL REFERENCES maintenance_windows ON DELETE CASCADE,
    announced_from INTEGER, begun_from INTEGER, is_over INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (page_id, window_id)) WITHOUT ROWID`,
  'CREATE INDEX page_windows_told_window ON page_windows_told (window_id)',
  // Where the custom domain of a page points. `declared`: the domain that the page declared when it was
  // checked. If the page declares another domain now, that domain is not checked yet. `domain`: the ASCII
  // form of the domain. `failures`: number of checks that found the domain pointing elsewhere, since the last
  // one that found it pointing here.
  `CREATE TABLE page_domains (
    page_id INTEGER PRIMARY KEY REFERENCES status_pages ON DELETE CASCADE,
    declared TEXT NOT NULL, domain TEXT NOT NULL, state TEXT NOT NULL, problem TEXT,
    failures INTEGER NOT NULL DEFAULT 0, checked_at INTEGER NOT NULL, verified_at INTEGER)`,
  'CREATE INDEX page_domains_domain ON page_domains (domain)',
  // The icon of a page as it was last fetched. `url`: the page's icon URL at that time. If the page has
  // another URL now, the row is ignored. `content` null: no image was fetched from this URL. `validator`: the
  // `ETag` of the answer that had the image. `problem`: why the last fetch failed; null: it succeeded.
  `CREATE TABLE page_icons (
    page_id INTEGER PRIMARY KEY REFERENCES status_pages ON DELETE CASCADE,
    url TEXT NOT NULL, content_type TEXT, content BLOB, validator TEXT, problem TEXT,
    tried_at INTEGER NOT NULL, fetched_at INTEGER, failures INTEGER NOT NULL DEFAULT 0)`,
];

/** Keeps the ids of deleted monitors until the retention has deleted their roll-ups. */
const REMOVED = triggerDefinition({
  name: 'monitors_removed',
  after: 'DELETE',
  table: 'monitors',
  body: 'INSERT INTO removed_monitors (monitor_id) VALUES (old.id) ON CONFLICT DO NOTHING;',
});

export async function up(db: Kysely<unknown>): Promise<void> {
  const tables = [...ACCESS, ...DECLARED, ...EVALUATION, ...TOTALS, ...DELIVERY, ...NOTES, ...VISITORS];
  for (const table of tables) await definition(table).execute(db);
  for (const other of [REMOVED, ...SHOWN_VERSIONS, ...POSTGRES_ONLY]) await other.execute(db);
}
