import { DAY_MS, dayOf, HOUR_MS } from '../domain/summary-range.ts';
import type { Store } from '../store/store.ts';
import { KEPT_HOURS_MS } from './days.ts';
import type { Progress } from './progress.ts';
import { type SeriesRow, seriesOfMonitor } from './series.ts';
import { RollupStatements } from './statements.ts';

/** Of one transaction: some 4 ms of the scheduling thread. */
const REPAIRS = 20;
/** No further repair is begun in a transaction that writes so many rows. */
const ROWS = 300;

type Repair = { hour: number; monitor_id: number; marks: number };
type Span = { from: number; until: number };

/**
 * Rolls up again the hours of monitors that got a result after they were rolled up: from all results
 * of the hour, so a repeated repair changes nothing.
 *
 * @param closedUntil beginning of the first hour that is not over
 * @returns false: nothing was to be done
 */
export async function repairHours(store: Store, progress: Progress, closedUntil: number): Promise<boolean> {
  const due: Repair[] = await store.read
    .selectFrom('rollup_repairs')
    .selectAll()
    // Others are not rolled up yet, or only in part; or get more results, where the clock was ahead.
    .where('hour', '<', Math.min(progress.hour, closedUntil))
    .orderBy('hour')
    .limit(REPAIRS)
    .execute();
  if (due.length === 0) return false;
  const found: { repair: Repair; span: Span; rows: (SeriesRow & { at: number })[] }[] = [];
  let rowsFound = 0;
  for (const repair of due) {
    if (rowsFound >= ROWS) break;
    const span = spanOf(repair.hour, progress);
    const rows = await seriesOfMonitor(store.read, repair.monitor_id, span);
    rowsFound += rows.length;
    found.push({ repair, span, rows });
  }
  await store.transaction(({ sqlite }) => {
    const statements = RollupStatements.of(sqlite);
    for (const { repair, span, rows } of found) {
      if (statements.takeRepair(repair)) repairSpan(statements, progress, repair.monitor_id, span, rows);
    }
  });
  return true;
}

/** The hour, or all of its day where the day's other hours may be deleted already. */
function spanOf(hour: number, { day }: Progress): Span {
  if (hour >= day - KEPT_HOURS_MS) return { from: hour, until: hour + HOUR_MS };
  return { from: dayOf(hour), until: dayOf(hour) + DAY_MS };
}

function repairSpan(
  statements: RollupStatements,
  { day: nextDay, afterMonitor }: Progress,
  id: number,
  { from, until }: Span,
  rows: readonly (SeriesRow & { at: number })[],
): void {
  // Too late: other results of the time are deleted, or all of the monitor's.
  if (from < statements.resultsFrom() || !statements.isMonitor(id)) return;
  for (let hour = from; hour < until; hour += HOUR_MS) statements.deleteHour(id, hour);
  for (const row of rows) statements.addToHour(row.at, row);
  const day = dayOf(from);
  if (day < nextDay || (day === nextDay && id <= afterMonitor)) statements.writeDay(id, day);
}
