import { type Progress, resultsFrom } from '../store/history/rollup-progress.ts';
import { dueRepairs, type Repair, takeRepairs } from '../store/history/rollup-repairs.ts';
import { replaceHours, writeDays } from '../store/history/rollups.ts';
import { type HourRow, seriesOfMonitor, type TimeSpan } from '../store/results/result-series.ts';
import type { Store, Transaction } from '../store/store.ts';
import { DAY_MS, dayOf, HOUR_MS } from '../verdict/summary-range.ts';
import { KEPT_HOURS_MS } from './days.ts';

/** Most repairs in one transaction. */
const REPAIRS = 20;
/** Number of rows after which no further repair is read for a transaction. */
const ROWS = 300;

/** A span of one monitor to repair, and the marks that ask for it. */
type SpanRepair = TimeSpan & { monitorId: number; repairs: Repair[] };

/**
 * Rolls up hours again that got a result after they were rolled up. It uses all results of the hour, so a
 * repeated repair changes nothing.
 *
 * @param closedUntil beginning of the first hour that is not over
 * @returns false: there was nothing to do
 */
export async function repairHours(store: Store, progress: Progress, closedUntil: number): Promise<boolean> {
  // Other hours are not rolled up yet or only in part, or they get more results because the clock was ahead.
  const due = await dueRepairs(store, Math.min(progress.hour, closedUntil), REPAIRS);
  if (due.length === 0) return false;
  const found: { span: SpanRepair; rows: HourRow[] }[] = [];
  let rowsFound = 0;
  for (const span of spansOf(due, progress)) {
    if (rowsFound >= ROWS) break;
    const rows = await seriesOfMonitor(store, span.monitorId, span);
    rowsFound += rows.length;
    found.push({ span, rows });
  }
  await store.transaction((tx) => write(tx, progress, found));
  return true;
}

/**
 * The spans to repair, each once however many of its hours are marked, because a span is read and written as
 * a whole.
 */
function spansOf(due: readonly Repair[], progress: Progress): Iterable<SpanRepair> {
  const spans = new Map<string, SpanRepair>();
  for (const repair of due) {
    const { monitor_id: monitorId } = repair;
    const { from, until } = spanOf(repair.hour, progress);
    const key = `${monitorId}:${from}:${until}`;
    const span = spans.get(key) ?? { monitorId, from, until, repairs: [] };
    span.repairs.push(repair);
    spans.set(key, span);
  }
  return spans.values();
}

/** The hour, or its whole day where the day's other hours may be deleted already. */
function spanOf(hour: number, { day }: Progress): TimeSpan {
  if (hour >= day - KEPT_HOURS_MS) return { from: hour, until: hour + HOUR_MS };
  return { from: dayOf(hour), until: dayOf(hour) + DAY_MS };
}

async function write(
  tx: Transaction,
  { day: nextDay, afterMonitor }: Progress,
  found: readonly { span: SpanRepair; rows: HourRow[] }[],
): Promise<void> {
  const taken = await takeRepairs(
    tx,
    found.flatMap(({ span }) => span.repairs),
  );
  const complete = await resultsFrom(tx);
  // Earlier spans are too old: other results of that time are deleted.
  const repaired = found.filter(
    ({ span }) => span.from >= complete && span.repairs.some((repair) => taken.has(repair)),
  );
  await replaceHours(
    tx,
    repaired.map(({ span }) => span),
    repaired.flatMap(({ rows }) => rows),
  );
  const days = repaired.map(({ span }) => ({ monitorId: span.monitorId, day: dayOf(span.from) }));
  await writeDays(
    tx,
    days.filter(({ monitorId, day }) => day < nextDay || (day === nextDay && monitorId <= afterMonitor)),
  );
}
