import { FINEST_PERIOD_MS } from '../domain/schedule.ts';
import { HOUR_MS, hourOf } from '../domain/summary-range.ts';
import type { Store } from '../store/store.ts';
import type { Progress } from './progress.ts';
import { seriesOfPhases } from './series.ts';
import { RollupStatements } from './statements.ts';

/** Results that one read should sum up: some 5 ms of the reading thread. */
const RESULTS = 5_000;
/** Rows that one transaction should write: some 4 ms of the scheduling thread. */
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
    if (next > hour) return moved(store, { ...progress, hour: next }, () => {});
    width.ms = FIRST_WIDTH_MS;
  }
  const until = Math.min(phase + width.ms, FINEST_PERIOD_MS);
  const rows = await seriesOfPhases(store.read, hour, { from: phase, until });
  const after =
    until < FINEST_PERIOD_MS
      ? { ...progress, phase: until }
      : { ...progress, hour: hour + HOUR_MS, phase: 0 };
  await moved(store, after, (statements) => {
    for (const row of rows) if (statements.isMonitor(row.monitor_id)) statements.addToHour(hour, row);
  });
  if (until - phase === width.ms) adapt(width, rows);
  return after;
}

/** Writes something and the progress that it is, in one transaction. */
export async function moved(
  store: Store,
  progress: Progress,
  write: (statements: RollupStatements) => void,
): Promise<Progress> {
  await store.transaction(({ sqlite }) => {
    const statements = RollupStatements.of(sqlite);
    write(statements);
    statements.writeProgress(progress);
  });
  return progress;
}

async function nextHourWithResults(store: Store, hour: number, closedUntil: number): Promise<number> {
  const { slot } = await store.read
    .selectFrom('results')
    .select(({ fn }) => fn.min<number | null>('slot').as('slot'))
    .where('slot', '>=', hour)
    .executeTakeFirstOrThrow();
  return slot === null ? closedUntil : Math.min(hourOf(slot), closedUntil);
}

function adapt(
  width: PartWidth,
  rows: readonly { passed: number; degraded: number; failed: number; not_run: number }[],
): void {
  const results = rows.reduce(
    (sum, { passed, degraded, failed, not_run }) => sum + passed + degraded + failed + not_run,
    0,
  );
  const filled = Math.max(results / RESULTS, rows.length / ROWS, 1 / MOST_CHANGE);
  const next = width.ms / Math.min(filled, MOST_CHANGE);
  width.ms = Math.min(Math.max(1, Math.floor(next)), FINEST_PERIOD_MS);
}
