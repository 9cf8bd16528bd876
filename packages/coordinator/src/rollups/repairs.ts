import { dayOf, HOUR_MS } from '../domain/summary-range.ts';
import type { Store } from '../store/store.ts';
import { KEPT_HOURS_MS } from './days.ts';
import type { Progress } from './progress.ts';
import { type SeriesRow, seriesOfMonitor } from './series.ts';
import { RollupStatements } from './statements.ts';

/** Of one transaction: some 4 ms of the scheduling thread. */
const REPAIRS = 20;

type Repair = { hour: number; monitor_id: number; marks: number };

/**
 * Rolls up again the hours of monitors that got a result after they were rolled up: from all results
 * of the hour, so a repeated repair changes nothing.
 *
 * @returns false: nothing was to be done
 */
export async function repairHours(store: Store, progress: Progress): Promise<boolean> {
  const due: Repair[] = await store.read
    .selectFrom('rollup_repairs')
    .selectAll()
    // Others are not rolled up yet, or only in part.
    .where('hour', '<', progress.hour)
    .orderBy('hour')
    .limit(REPAIRS)
    .execute();
  if (due.length === 0) return false;
  const found: SeriesRow[][] = [];
  for (const { hour, monitor_id } of due) {
    found.push(await seriesOfMonitor(store.read, monitor_id, { from: hour, until: hour + HOUR_MS }));
  }
  await store.transaction(({ sqlite }) => {
    const statements = RollupStatements.of(sqlite);
    due.forEach((repair, index) => {
      if (statements.takeRepair(repair)) repairHour(statements, progress, repair, found[index] ?? []);
    });
  });
  return true;
}

function repairHour(
  statements: RollupStatements,
  { day: nextDay, afterMonitor }: Progress,
  { hour, monitor_id: id }: Repair,
  rows: readonly SeriesRow[],
): void {
  // Too late: the hour's other results, or the day's other hours, are there no more.
  if (hour < statements.resultsFrom() || hour < nextDay - KEPT_HOURS_MS || !statements.isMonitor(id)) return;
  statements.deleteHour(id, hour);
  for (const row of rows) statements.addToHour(hour, row);
  const day = dayOf(hour);
  if (day < nextDay || (day === nextDay && id <= afterMonitor)) statements.writeDay(id, day);
}
