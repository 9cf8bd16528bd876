import { isDuring, type WindowTimes } from '../../verdict/maintenance-window.ts';
import type { Store } from '../store.ts';
import { timesOf, type WindowRow } from './maintenance-windows.ts';

/** Most windows that are remembered: those of ten full workspaces. */
const MOST_REMEMBERED = 10_000;

/** Reads which maintenance windows are under way. It remembers the windows, which change rarely. */
export class MaintenanceNow {
  readonly #store: Pick<Store, 'read'>;
  /** By id and version. */
  readonly #known = new Map<string, WindowTimes>();

  constructor(store: Pick<Store, 'read'>) {
    this.#store = store;
  }

  /**
   * Ids of the workspace's windows with an occurrence that covers the instant.
   *
   * @param now epoch ms on the slots' clock
   */
  async underWay(workspaceId: number, now: number): Promise<number[]> {
    const rows = await this.#store.read
      .selectFrom('maintenance_windows')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where('starts_at', '<=', now)
      .where((row) => row.or([row('repeat', 'is not', null), row('ends_at', '>', now)]))
      .where((row) => row.or([row('ended_at', 'is', null), row('ended_at', '>', now)]))
      .orderBy('id')
      .execute();
    return rows.filter((row) => isDuring(this.#timesOf(row), now)).map(({ id }) => id);
  }

  #timesOf(row: WindowRow): WindowTimes {
    const key = `${row.id} ${row.row_version}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size >= MOST_REMEMBERED) this.#known.clear();
    const times = timesOf(row);
    this.#known.set(key, times);
    return times;
  }
}
