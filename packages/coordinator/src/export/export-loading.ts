import type { LiveMonitor, LiveMonitors } from '../domain/monitor.ts';
import type { StatusSince } from '../domain/uptime.ts';
import {
  type ExportNote,
  monitorsWithTotals,
  notesAfter,
  removeTotals,
  totalsOf,
} from '../store/export-totals.ts';
import { statusHistories } from '../store/status-history.ts';
import type { Store } from '../store/store.ts';
import type { ExportSettings } from './export-settings.ts';
import type { ExportTarget } from './pipeline.ts';
import type { ExportEntry } from './protocol.ts';
import { exportedMonitor, targetOf } from './targets.ts';

/** Monitors of one read. */
const PAGE = 200;
/** The span of the uptime. */
const HISTORY_MS = 24 * 3_600_000;
/** Changes may be dated by a clock that is a little ahead. */
const AHEAD_MS = 60_000;

type Exported = { readonly monitor: LiveMonitor; readonly target: ExportTarget };

/** Every monitor that is exported, some at a time. `now`: epoch ms. */
export async function* loadEntries(
  store: Pick<Store, 'read'>,
  monitors: LiveMonitors,
  settings: ExportSettings,
  now: number,
): AsyncGenerator<ExportEntry[]> {
  let page: Exported[] = [];
  for (const monitor of [...monitors.values()]) {
    const target = targetOf(monitor, settings);
    if (target === null) continue;
    page.push({ monitor, target });
    if (page.length < PAGE) continue;
    yield await entriesOf(store, page, now);
    page = [];
  }
  if (page.length > 0) yield await entriesOf(store, page, now);
}

/** Statuses of these monitors in the last 24 h, oldest first. `now`: epoch ms. */
export function loadHistories(
  store: Pick<Store, 'read'>,
  monitorIds: readonly number[],
  now: number,
): Promise<ReadonlyMap<number, readonly StatusSince[]>> {
  return statusHistories(store, monitorIds, { from: now - HISTORY_MS, until: now + AHEAD_MS });
}

async function entriesOf(
  store: Pick<Store, 'read'>,
  exported: readonly Exported[],
  now: number,
): Promise<ExportEntry[]> {
  const ids = exported.map(({ monitor }) => monitor.id);
  const [totals, histories] = await Promise.all([totalsOf(store, ids), loadHistories(store, ids, now)]);
  return exported.map(({ monitor, target }) => ({
    monitor: exportedMonitor(monitor),
    target,
    history: histories.get(monitor.id) ?? [],
    totals: totals.get(monitor.id) ?? null,
  }));
}

/** All notes up to this one that some totals may not have, in their order. */
export async function* loadNotes(store: Pick<Store, 'read'>, until: number): AsyncGenerator<ExportNote> {
  let after = 0;
  for (;;) {
    const notes = await notesAfter(store, after);
    yield* notes.filter(({ id }) => id <= until);
    const last = notes.at(-1);
    if (last === undefined || last.id >= until) return;
    after = last.id;
  }
}

/** Totals of monitors that are not exported any more go: should they be again, they begin anew. */
export async function removeOrphans(store: Store, isExported: (monitorId: number) => boolean): Promise<void> {
  let after = 0;
  for (;;) {
    const ids = await monitorsWithTotals(store, after, PAGE);
    const last = ids.at(-1);
    if (last === undefined) return;
    const gone = ids.filter((id) => !isExported(id));
    if (gone.length > 0) await removeTotals(store, gone);
    after = last;
  }
}
