import type { LiveMonitor, LiveMonitors } from '../domain/monitor.ts';
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
/** What the uptime is about. */
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

export async function loadEntry(
  store: Pick<Store, 'read'>,
  monitor: LiveMonitor,
  target: ExportTarget,
  now: number,
): Promise<ExportEntry> {
  const [entry] = await entriesOf(store, [{ monitor, target }], now);
  if (entry === undefined) throw new TypeError('one monitor makes one entry');
  // Its totals are in the thread, or begin now.
  return { ...entry, totals: null };
}

async function entriesOf(
  store: Pick<Store, 'read'>,
  exported: readonly Exported[],
  now: number,
): Promise<ExportEntry[]> {
  const ids = exported.map(({ monitor }) => monitor.id);
  const [totals, histories] = await Promise.all([
    totalsOf(store, ids),
    statusHistories(store, ids, { from: now - HISTORY_MS, until: now + AHEAD_MS }),
  ]);
  return exported.map(({ monitor, target }) => ({
    monitor: exportedMonitor(monitor),
    target,
    history: histories.get(monitor.id) ?? [],
    totals: totals.get(monitor.id) ?? null,
  }));
}

/** All notes that no totals have for sure, in their order. */
export async function* loadNotes(store: Pick<Store, 'read'>): AsyncGenerator<ExportNote> {
  let after = 0;
  for (;;) {
    const notes = await notesAfter(store, after);
    yield* notes;
    const last = notes.at(-1);
    if (last === undefined) return;
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
