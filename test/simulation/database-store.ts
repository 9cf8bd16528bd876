import { appendChanges, changesAfter } from '@svc/coordinator/store/declaration/changes.ts';
import { Secrets } from '@svc/coordinator/store/declaration/secrets.ts';
import { loadWindows } from '@svc/coordinator/store/incidents/maintenance-windows.ts';
import { createRecordingStore, type RecordingStore } from '@svc/coordinator/store/results/recording-store.ts';
import { numbersFor, type RegionNumbers } from '@svc/coordinator/store/results/region-numbers.ts';
import type { SqlValue, Store } from '@svc/coordinator/store/store.ts';
import type { LiveWindow } from '@svc/coordinator/verdict/maintenance-window.ts';
import type { LiveMonitor } from '@svc/coordinator/verdict/monitor.ts';
import { ONLY_SHARD } from '@svc/coordinator/verdict/shard.ts';
import type { Link } from '@svc/coordinator/verdict/state.ts';
import type { ChannelKind } from '@svc/shared/channels/settings.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { WORLD_REGIONS } from './own-regions.ts';
import type { Remains, WorldStore } from './store.ts';

/** A store of worlds in the real database, for one world after the other. */
export class DatabaseWorldStore implements WorldStore {
  readonly recording: RecordingStore;
  readonly #store: Store;
  readonly #database: TestDatabase;

  private constructor(store: Store, database: TestDatabase, numbers: RegionNumbers) {
    this.#store = store;
    this.#database = database;
    this.recording = createRecordingStore(store, new Secrets(Buffer.alloc(32, 1)), ONLY_SHARD, numbers);
  }

  static async open(): Promise<DatabaseWorldStore> {
    const database = await testDatabase();
    const store = await database.open();
    return new DatabaseWorldStore(store, database, await numbersFor(store, WORLD_REGIONS));
  }

  /** The store, for reading what was recorded. */
  get reading(): Pick<Store, 'read'> {
    return this.#store;
  }

  async close(): Promise<void> {
    await this.#store.close();
    await this.#database.remove();
  }

  /** Empties the database for another world. */
  async clear(): Promise<void> {
    for (const table of TABLES) await this.#write(`DELETE FROM ${table}`);
    await this.#write(
      "INSERT INTO workspaces (id, name, created_at) VALUES (1, 'test', 0) ON CONFLICT DO NOTHING",
    );
  }

  declare({ id, name }: LiveMonitor): Promise<void> {
    return this.#write(
      `INSERT INTO monitors (id, workspace_id, type, name, active, attributes, activated_at, created_at, updated_at)
        VALUES (?, 1, 'http', ?, 1, '{}', 0, 0, 0) ON CONFLICT DO NOTHING`,
      id,
      name,
    );
  }

  async remove(monitorId: number): Promise<Remains> {
    const links = await this.#links(monitorId);
    const [state] = await this.#query<{ incident: string | null }>(
      'SELECT incident FROM monitor_states WHERE monitor_id = ?',
      monitorId,
    );
    await this.#write('DELETE FROM monitors WHERE id = ?', monitorId);
    return { incident: state?.incident ?? null, links };
  }

  async link(monitorId: number, channel: number, kind: ChannelKind, version: number): Promise<void> {
    const links = await this.#links(monitorId);
    if (links.some(({ notificationId }) => notificationId === channel)) return;
    await this.#write(
      `INSERT INTO notifications (id, workspace_id, provider_type, settings_sealed, created_at, updated_at)
        VALUES (?, 1, ?, ?, 0, 0) ON CONFLICT (id) DO UPDATE SET provider_type = excluded.provider_type`,
      channel,
      kind,
      new Uint8Array(),
    );
    await this.#write(
      'INSERT INTO links VALUES (?, ?, ?, ?, ?)',
      monitorId,
      channel,
      version,
      'active',
      null,
    );
  }

  async unlink(monitorId: number, channel: number): Promise<Link | null> {
    const links = await this.#links(monitorId);
    await this.#write('DELETE FROM links WHERE monitor_id = ? AND notification_id = ?', monitorId, channel);
    return links.find(({ notificationId }) => notificationId === channel) ?? null;
  }

  removeChannel(channel: number): Promise<void> {
    return this.#write('DELETE FROM notifications WHERE id = ?', channel);
  }

  async setWindow(id: number, window: LiveWindow | null): Promise<void> {
    if (id < 0) return this.#setMute(-id, window?.times.endsAt ?? null);
    await this.#write('DELETE FROM maintenance_windows WHERE id = ?', id);
    if (window === null) return;
    const { startsAt, endsAt, timeZone, repeat } = window.times;
    await this.#write(
      `INSERT INTO maintenance_windows
        (id, workspace_id, title, text, starts_at, ends_at, time_zone, repeat, created_at, updated_at)
        VALUES (?, 1, 'Work', '', ?, ?, ?, ?, 0, 0)`,
      id,
      startsAt,
      endsAt,
      timeZone,
      repeat === null ? null : JSON.stringify(repeat),
    );
    for (const monitorId of window.monitorIds)
      await this.#write('INSERT INTO maintenance_monitors VALUES (?, ?)', id, monitorId);
  }

  async #setMute(monitorId: number, until: number | null): Promise<void> {
    await this.#write('DELETE FROM mutes WHERE monitor_id = ?', monitorId);
    if (until !== null) await this.#write("INSERT INTO mutes VALUES (?, 0, ?, 'Ada')", monitorId, until);
  }

  windows(now: number): Promise<ReadonlyMap<number, LiveWindow>> {
    return loadWindows(this.#store, now);
  }

  logChange(monitorId: number): Promise<number> {
    return this.#store.transaction(async (tx) => {
      const id = await appendChanges(tx, [{ kind: 'monitor', monitorId, removed: null }]);
      if (id === null) throw new Error('nothing was logged');
      return id;
    });
  }

  async loggedChanges(): Promise<readonly number[]> {
    const changes = await changesAfter(this.#store, 0, 100);
    return changes.map(({ id }) => id);
  }

  newestSlot(monitorId: number, until: number): Promise<number | null> {
    const parameters = [monitorId, Math.min(until, Number.MAX_SAFE_INTEGER)];
    return this.#store.transaction(async (tx) => {
      const rows = await tx.query<{ slot: number | null }>(NEWEST_SLOT, [
        ...parameters,
        ...parameters,
        ...parameters,
      ]);
      const newest = Math.max(0, ...rows.map(({ slot }) => slot ?? 0));
      return newest === 0 ? null : newest;
    });
  }

  #links(monitorId: number): Promise<readonly Link[]> {
    return this.#query<Link>(
      `SELECT l.notification_id AS "notificationId", n.provider_type AS "providerType", l.version, l.announced,
          l.incident, i.opened_at AS "incidentSince"
        FROM links l JOIN notifications n ON n.id = l.notification_id LEFT JOIN incidents i ON i.key = l.incident
        WHERE l.monitor_id = ?`,
      monitorId,
    );
  }

  #query<Row extends object>(sql: string, ...parameters: SqlValue[]): Promise<readonly Row[]> {
    return this.#store.transaction((tx) => tx.query<Row>(sql, parameters));
  }

  async #write(sql: string, ...parameters: SqlValue[]): Promise<void> {
    await this.#store.commit([{ sql, rows: [parameters] }]);
  }
}

const NEWEST_SLOT = `
  SELECT max(slot) AS slot FROM slot_results WHERE monitor_id = ? AND slot <= ?
  UNION ALL SELECT decided_slot FROM monitor_votes WHERE monitor_id = ? AND decided_slot <= ?
  UNION ALL SELECT max(slot) FROM off_grid_slots WHERE monitor_id = ? AND slot <= ?`;

const TABLES = [
  'mutes',
  'maintenance_windows',
  'changes',
  'slot_results',
  'off_grid_slots',
  'rollup_repairs',
  'deliveries',
  'transitions',
  'incidents',
  'links',
  'monitor_states',
  'monitor_votes',
  'stream_positions',
  'notifications',
  'monitors',
];
