import { FINEST_PERIOD_MS } from '../domain/schedule.ts';
import { HOUR_MS, hourOf } from '../domain/summary-range.ts';
import { type Counts, firstSlotFrom, seriesOfPhases } from '../store/result-series.ts';
import type { Progress } from '../store/rollup-progress.ts';
import { addToHours } from '../store/rollups.ts';
import type { Store } from '../store/store.ts';
import { moved } from './moved.ts';

/** Results that one read should sum up: some 5 ms of the reading thread. */
const RESULTS = 5_000;
/** Rows that one transaction should write: recording waits for it, some 4 ms. */
const ROWS = 300;
/** ms; little where there are very many monitors. Each hour begins with it: monitors may have been declared since the last. */
const FIRST_WIDTH_MS = 4;
/** So many times wider or narrower at most is the next part. */
const MOST_CHANGE = 8;

/** How wide a part of each half minute is looked at next, ms: as much as the last ones let expect. */
export type PartWidth = { ms: number };
export const firstWidth = (): PartWidth => ({ ms: FIRST_WIDTH_MS });

/**
 * Rolls up the next part of the oldest hour that is not yet.
 *
 * @param closedUntil beginning of the first hour that is not over; results of those before it are
 *   marked for repair by who records them from here on
 * @returns how far it is now; null: nothing was to be done
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
