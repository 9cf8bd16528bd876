import { monitorsAfter, monitorsOf } from '../store/declaration/monitors.ts';
import type { Row } from '../store/declaration/resources.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import { readAhead } from '../store/sqlite/read-ahead.ts';
import type { Store } from '../store/store.ts';
import type { LiveMonitor, LiveMonitors } from '../verdict/monitor.ts';
import { monitorAttributes } from './kinds/monitors.ts';
import { liveMonitor } from './live-monitor.ts';

const PAGE_ROWS = 1_000;

type Listener = (before: LiveMonitor | null, after: LiveMonitor | null) => void;

/**
 * Loads these monitors as they are declared now; removed ones are missing.
 *
 * @throws StoreError `store-key` when a monitor's secrets do not open, `store-unreadable`
 */
export async function loadLiveMonitors(
  store: Store,
  secrets: Secrets,
  ids: readonly number[],
): Promise<ReadonlyMap<number, LiveMonitor>> {
  const rows = await monitorsOf({ read: store.work }, ids);
  return new Map(rows.map((row) => [row.id, opened(secrets, row)]));
}

/**
 * The declared monitors of all workspaces in memory. They follow the rows: the code that applies the log of
 * changes puts in the changed monitors.
 */
export class MonitorsInMemory implements LiveMonitors {
  readonly #byId = new Map<number, LiveMonitor>();
  readonly #listeners = new Set<Listener>();

  /** @throws StoreError `store-key` when a monitor's secrets do not open, `store-unreadable` */
  static async load(store: Store, secrets: Secrets): Promise<MonitorsInMemory> {
    const monitors = new MonitorsInMemory();
    const pages = readAhead(
      (after) => monitorsAfter(store, after, PAGE_ROWS),
      ({ id }) => id,
    );
    for await (const rows of pages) {
      for (const row of rows) monitors.#byId.set(row.id, opened(secrets, row));
    }
    return monitors;
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

  /** Replaces `before` by `after`, or removes it when `after` is null, and notifies the listeners. */
  replace(before: LiveMonitor | null, after: LiveMonitor | null): void {
    if (before === null && after === null) return;
    if (after !== null) this.#byId.set(after.id, after);
    else if (before !== null) this.#byId.delete(before.id);
    for (const listener of this.#listeners) listener(before, after);
  }
}

function opened(secrets: Secrets, row: Row<'monitors'>): LiveMonitor {
  const metadata = {
    id: row.id,
    workspaceId: row.workspace_id,
    version: row.probe_version,
    activatedAt: row.activated_at,
  };
  return liveMonitor(metadata, monitorAttributes(secrets, row, 'open'));
}
