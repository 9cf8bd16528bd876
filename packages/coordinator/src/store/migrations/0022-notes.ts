import { type Kysely, sql } from 'kysely';

/**
 * Maintenance windows, and incidents that people write about. All of them are runtime objects: nothing declares
 * them.
 */
const WINDOWS = [
  // `repeat`: JSON, see `maintenance-windows.ts`; null: once. `ended_at`: the window is over from then on; null: it
  // was not ended.
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
  // Pages that show a window beside those that show its monitors, and components that it names.
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
];

const INCIDENTS = [
  // Incidents get an id and may be written by people: such an incident has a title and neither key nor monitor. The
  // key is that of alerts and transitions. `impact` is what the operator says of the affected components.
  `CREATE TABLE known_incidents (
    id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE, workspace_id INTEGER, monitor_id INTEGER,
    opened_at INTEGER NOT NULL, closed_at INTEGER, closure TEXT, title TEXT,
    impact TEXT NOT NULL DEFAULT 'none', row_version INTEGER NOT NULL DEFAULT 1)`,
  `INSERT INTO known_incidents (key, workspace_id, monitor_id, opened_at, closed_at, closure)
    SELECT i.key, m.workspace_id, i.monitor_id, i.opened_at, i.closed_at, i.closure
    FROM incidents i LEFT JOIN monitors m ON m.id = i.monitor_id ORDER BY i.opened_at, i.key`,
  'DROP TABLE incidents',
  'ALTER TABLE known_incidents RENAME TO incidents',
  'CREATE INDEX incidents_monitor ON incidents (monitor_id, opened_at)',
  'CREATE INDEX incidents_closed ON incidents (closed_at) WHERE closed_at IS NOT NULL',
  'CREATE INDEX incidents_workspace ON incidents (workspace_id, id)',
  // Pages that show an incident. None for an incident of a monitor: the pages that show the monitor.
  `CREATE TABLE incident_pages (
    incident_id INTEGER NOT NULL REFERENCES incidents ON DELETE CASCADE,
    page_id INTEGER NOT NULL REFERENCES status_pages ON DELETE CASCADE,
    PRIMARY KEY (incident_id, page_id)) WITHOUT ROWID`,
  'CREATE INDEX incident_pages_page ON incident_pages (page_id)',
  // What people tell about an incident. `component_ids`: JSON array of the affected components. Ids grow in the
  // order of the commits: subscribers are told by them.
  `CREATE TABLE incident_updates (
    id INTEGER PRIMARY KEY AUTOINCREMENT, incident_id INTEGER NOT NULL REFERENCES incidents ON DELETE CASCADE,
    state TEXT NOT NULL, text TEXT NOT NULL, component_ids TEXT NOT NULL, at INTEGER NOT NULL,
    row_version INTEGER NOT NULL DEFAULT 1, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL)`,
  'CREATE INDEX incident_updates_incident ON incident_updates (incident_id, id)',
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of [...WINDOWS, ...INCIDENTS]) await sql.raw(statement).execute(db);
}
