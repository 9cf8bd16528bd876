import type { Progress } from '../store/history/rollup-progress.ts';
import { addToHours } from '../store/history/rollups.ts';
import { type Counts, firstSlotFrom, seriesOfPhases } from '../store/results/result-series.ts';
import type { Store } from '../store/store.ts';
import { FINEST_PERIOD_MS } from '../verdict/schedule.ts';
import { HOUR_MS, hourOf } from '../verdict/summary-range.ts';
import { moved } from './moved.ts';

/** Results that one read should sum up: some 5 ms of the reading thread. */
const RESULTS = 5_000;
/** Rows that one transaction should write. Recording waits some 4 ms for it. */
const ROWS = 300;
/**
 * First width of a part, ms. It holds little even with very many monitors. Each hour begins with it, because
 * monitors may have been declared since the last.
 */
const FIRST_WIDTH_MS = 4;
/** Largest factor between the widths of two consecutive parts. */
const MOST_CHANGE = 8;

/** Width of the next part of each half minute, ms, estimated from the last parts. */
export type PartWidth = { ms: number };
export const firstWidth = (): PartWidth => ({ ms: FIRST_WIDTH_MS });

/**
 * Rolls up the next part of the oldest hour that is not rolled up.
 *
 * @param closedUntil beginning of the first hour that is not over. Later results of the hours before it are
 *   marked for repair when they are recorded
 * @returns the new progress; null: there was nothing to do
 */
export async function rollUpHour(
  store: Store,
  progress: Progress,
  closedUntil: number,
  width: PartWidth,
): Promise<Progress | null> {
  const { hour, phase } = progress;
  if (hour >= closedUntil) return null;
  if (phase === 0) {
    const next = await nextHourWithResults(store, hour, closedUntil);
    if (next > hour) return moved(store, { ...progress, hour: next }, async () => {});
    width.ms = FIRST_WIDTH_MS;
  }
  const until = Math.min(phase + width.ms, FINEST_PERIOD_MS);
  const rows = await seriesOfPhases(store, hour, { from: phase, until });
  const after =
    until < FINEST_PERIOD_MS
      ? { ...progress, phase: until }
      : { ...progress, hour: hour + HOUR_MS, phase: 0 };
  await moved(store, after, (tx) => addToHours(tx, rows));
  if (until - phase === width.ms) adapt(width, rows);
  return after;
}

async function nextHourWithResults(store: Store, hour: number, closedUntil: number): Promise<number> {
  const slot = await firstSlotFrom(store, hour);
  return slot === null ? closedUntil : Math.min(hourOf(slot), closedUntil);
}

function adapt(width: PartWidth, rows: readonly Counts[]): void {
  const results = rows.reduce(
    (sum, { passed, degraded, failed, not_run }) => sum + passed + degraded + failed + not_run,
    0,
  );
  const filled = Math.max(results / RESULTS, rows.length / ROWS, 1 / MOST_CHANGE);
  const next = width.ms / Math.min(filled, MOST_CHANGE);
  width.ms = Math.min(Math.max(1, Math.floor(next)), FINEST_PERIOD_MS);
}
