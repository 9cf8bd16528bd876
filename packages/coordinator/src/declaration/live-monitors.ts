import { periodMs } from '@svc/shared/periodicity.ts';
import { quorumOf } from '@svc/shared/quorum.ts';
import type { Region } from '@svc/shared/regions.ts';
import { targetOf, toCheck } from '@svc/shared/resources/monitors.ts';
import { Secret } from '@svc/shared/secret.ts';
import { monitorsAfter, monitorsOf, monitorVersions } from '../store/declaration/monitors.ts';
import type { Row } from '../store/declaration/resources.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import { idChunks, readAhead } from '../store/queries.ts';
import type { Store } from '../store/store.ts';
import { longestCheckMs } from '../verdict/check-duration.ts';
import type { DeclaredExport, LiveMonitor, LiveMonitors } from '../verdict/monitor.ts';
import { ONLY_SHARD, type Shard } from '../verdict/shard.ts';
import type { AttributesOf, MonitorKind } from './kinds/kind-tables.ts';
import { monitorAttributes } from './kinds/monitors.ts';

const PAGE_ROWS = 1_000;

type Listener = (before: LiveMonitor | null, after: LiveMonitor | null) => void;

/**
 * Loads the present declarations of the monitors with these ids. Removed monitors are missing.
 *
 * @throws StoreError `store-key` when a monitor's secrets cannot be
 *   decrypted, `store-unreadable` when its attributes are not valid
 */
export async function loadLiveMonitors(
  store: Store,
  secrets: Secrets,
  ids: readonly number[],
): Promise<ReadonlyMap<number, LiveMonitor>> {
  const rows = await monitorsOf({ read: store.work }, ids);
  return new Map(rows.map((row) => [row.id, monitorOfRow(secrets, row)]));
}

/**
 * The declared monitors of a shard, of all workspaces, in memory. When the log
 * of changes is applied, the changed monitors are replaced here.
 */
export class MonitorsInMemory implements LiveMonitors {
  readonly #byId = new Map<number, LiveMonitor>();
  /** The versions of the rows that {@link reload} has read. Monitors that were replaced since are missing. */
  readonly #versions = new Map<number, string>();
  readonly #listeners = new Set<Listener>();

  /**
   * Loads all monitors of the shard from the database.
   *
   * @throws StoreError `store-key` when a monitor's secrets cannot be
   *   decrypted, `store-unreadable` when its attributes are not valid
   */
  static async load(store: Store, secrets: Secrets, shard: Shard = ONLY_SHARD): Promise<MonitorsInMemory> {
    const monitors = new MonitorsInMemory();
    const pages = readAhead(
      (after) => monitorsAfter(store, after, PAGE_ROWS, shard),
      ({ id }) => id,
    );
    for await (const rows of pages) {
      for (const row of rows) monitors.#byId.set(row.id, monitorOfRow(secrets, row));
    }
    return monitors;
  }

  /**
   * Returns all monitors of the shard in a new object. Parses only the rows that have changed since this object
   * was made by a reload. The first reload is that of an empty object, and parses all rows.
   *
   * @throws StoreError, as {@link load}
   */
  async reload(store: Store, secrets: Secrets, shard: Shard): Promise<MonitorsInMemory> {
    const monitors = new MonitorsInMemory();
    const changed: number[] = [];
    for (const row of await monitorVersions(store, shard)) {
      const version = versionOf(row);
      const known = this.#versions.get(row.id) === version ? this.#byId.get(row.id) : undefined;
      if (known === undefined) changed.push(row.id);
      else monitors.#add(known, version);
    }
    for (const ids of idChunks(changed)) {
      const rows = await monitorsOf(store, ids);
      for (const row of rows) monitors.#add(monitorOfRow(secrets, row), versionOf(row));
    }
    return monitors;
  }

  /** Frees the memory of the versions that {@link reload} compares. A later reload parses all rows. */
  forgetVersions(): void {
    this.#versions.clear();
  }

  #add(monitor: LiveMonitor, version: string): void {
    this.#byId.set(monitor.id, monitor);
    this.#versions.set(monitor.id, version);
  }

  get size(): number {
    return this.#byId.size;
  }

  get(id: number): LiveMonitor | undefined {
    return this.#byId.get(id);
  }

  values(): Iterable<LiveMonitor> {
    return this.#byId.values();
  }

  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Replaces the monitor `before` by `after`. `before` null: `after` is
   * added; `after` null: `before` is removed. Notifies the listeners.
   */
  replace(before: LiveMonitor | null, after: LiveMonitor | null): void {
    const id = (after ?? before)?.id;
    if (id === undefined) return;
    this.#versions.delete(id);
    if (after !== null) this.#byId.set(after.id, after);
    else this.#byId.delete(id);
    for (const listener of this.#listeners) listener(before, after);
  }
}

/**
 * A text that differs between any two declarations of a row. It contains the instant of the change, because a
 * database that lost its last commits may give a version a second time.
 */
const versionOf = ({ row_version, updated_at }: Pick<Row<'monitors'>, 'row_version' | 'updated_at'>) =>
  `${row_version} ${updated_at}`;

function monitorOfRow(secrets: Secrets, row: Row<'monitors'>): LiveMonitor {
  const attributes = monitorAttributes(secrets, row, 'open');
  const check = toCheck(attributes);
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    type: attributes.type,
    name: attributes.name,
    target: targetOf(attributes),
    active: attributes.active,
    periodMs: periodMs(attributes.periodicity),
    regions: sharedRegions(attributes.regions),
    quorum: quorumOf(attributes.quorum),
    confirmAfter: attributes.confirm_after,
    recoverAfter: attributes.recover_after,
    version: row.probe_version,
    degradedAtMs: check.degraded_at,
    longestCheckMs: longestCheckMs(check.timeout, check.retry),
    activatedAt: row.activated_at,
    checkText: new Secret(JSON.stringify(check)),
    declaredExport: exportOf(attributes),
  };
}

function exportOf({ otlp_endpoint, otlp_headers }: AttributesOf<MonitorKind>): DeclaredExport | null {
  if (otlp_endpoint === null) return null;
  return { endpoint: new Secret(otlp_endpoint), headers: new Secret(otlp_headers ?? {}) };
}

/**
 * Maximum number of sets of regions that monitors share. Most monitors use one of a few sets. Monitors
 * with equal sets share one array, which saves memory when there are a hundred thousand monitors.
 */
const SETS_KEPT = 1_000;
const regionSets = new Map<string, readonly Region[]>();

function sharedRegions(regions: readonly Region[] | null): readonly Region[] | null {
  if (regions === null) return null;
  const key = regions.join();
  const known = regionSets.get(key);
  if (known !== undefined) return known;
  const frozen = Object.freeze([...regions]);
  if (regionSets.size < SETS_KEPT) regionSets.set(key, frozen);
  return frozen;
}
