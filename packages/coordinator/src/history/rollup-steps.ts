import { type Progress, resultsFrom, writeProgress } from '../store/history/rollup-progress.ts';
import { dueRepairs, type Repair, takeRepairs } from '../store/history/rollup-repairs.ts';
import {
  addToHours,
  expireRollups,
  monitorsWithHours,
  replaceHours,
  writeDays,
} from '../store/history/rollups.ts';
import { writeUptimes } from '../store/history/uptime-days.ts';
import {
  type Counts,
  firstSlotFrom,
  type HourRow,
  seriesOfMonitor,
  seriesOfPhases,
  type TimeSpan,
} from '../store/results/result-series.ts';
import { statusHistories } from '../store/states/status-history.ts';
import type { Store, Transaction } from '../store/store.ts';
import { FINEST_PERIOD_MS } from '../verdict/schedule.ts';
import { DAY_MS, dayOf, HOUR_MS, hourOf } from '../verdict/summary-range.ts';
import { timesBetween } from '../verdict/uptime.ts';

/** Results that one read should sum up: some 5 ms of the reading thread. */
const RESULTS = 5_000;
/** Rows that one transaction should write, of hours and of repairs. Recording waits some 4 ms for it. */
const ROWS = 300;
/**
 * First width of a part, ms. It holds little even with very many monitors. Each hour begins with it, because
 * monitors may have been declared since the last.
 */
const FIRST_WIDTH_MS = 4;
/** Largest factor between the widths of two consecutive parts. */
const MOST_CHANGE = 8;

/** Width of the next part of each half minute, ms, estimated from the last parts. */
type PartWidth = { ms: number };
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
    if (next > hour) return writeWithProgress(store, { ...progress, hour: next }, async () => {});
    width.ms = FIRST_WIDTH_MS;
  }
  const until = Math.min(phase + width.ms, FINEST_PERIOD_MS);
  const rows = await seriesOfPhases(store, hour, { from: phase, until });
  const after =
    until < FINEST_PERIOD_MS
      ? { ...progress, phase: until }
      : { ...progress, hour: hour + HOUR_MS, phase: 0 };
  await writeWithProgress(store, after, (tx) => addToHours(tx, rows));
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

/** How long hours are kept before the day that is rolled up, ms. */
export const KEPT_HOURS_MS = 14 * DAY_MS;
const KEPT_DAYS_MS = 400 * DAY_MS;
/** Most monitors in one transaction, and most of their hours in regions. Recording waits some 5 ms for it. */
const MONITORS = 20;
const HOURS = 3_000;

/**
 * Rolls up the oldest finished day for the next few monitors: its hours into a row for each region, and their
 * verdicts into an uptime. It deletes the data of these monitors that is too old.
 *
 * @param believedNow clock that ages are judged by, epoch ms, see `history/believed-clock.ts`
 * @returns the new progress; null: there was nothing to do
 */
export async function rollUpDay(
  store: Store,
  progress: Progress,
  believedNow: number,
): Promise<Progress | null> {
  const { hour, day, afterMonitor } = progress;
  const end = day + DAY_MS;
  if (hour < end) return null;
  const { ids, isLast } = await nextMonitors(store, afterMonitor, { from: day, until: end });
  const histories = await statusHistories(store, ids, { from: day, until: end });
  const last = ids.at(-1);
  const after =
    isLast || last === undefined
      ? { ...progress, day: end, afterMonitor: 0 }
      : { ...progress, afterMonitor: last };
  // The age is judged by time that has surely passed, so that a clock that is ahead deletes nothing.
  const kept = Math.min(day, dayOf(believedNow));
  return writeWithProgress(store, after, async (tx) => {
    await writeDays(
      tx,
      ids.map((monitorId) => ({ monitorId, day })),
    );
    await writeUptimes(
      tx,
      ids.flatMap((monitorId) => {
        const [times] = timesBetween(histories.get(monitorId) ?? [], [day, end]);
        return times === undefined ? [] : [{ monitorId, day, times }];
      }),
    );
    await expireRollups(tx, ids, { hoursFrom: kept - KEPT_HOURS_MS, daysFrom: kept - KEPT_DAYS_MS });
  });
}

/** The monitors after this one whose day is rolled up in one transaction: at least one, if there are any. */
async function nextMonitors(
  store: Store,
  afterMonitor: number,
  span: TimeSpan,
): Promise<{ ids: number[]; isLast: boolean }> {
  const monitors = await monitorsWithHours(store, afterMonitor, span, MONITORS);
  const ids: number[] = [];
  let sum = 0;
  for (const { id, hours } of monitors) {
    sum += hours;
    if (ids.length > 0 && sum > HOURS) break;
    ids.push(id);
  }
  return { ids, isLast: monitors.length < MONITORS && ids.length === monitors.length };
}

/** Most repairs in one transaction. */
const REPAIRS = 20;

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

/** Writes data together with the progress that it means, in one transaction. */
async function writeWithProgress(
  store: Store,
  progress: Progress,
  write: (tx: Transaction) => Promise<void>,
): Promise<Progress> {
  await store.transaction(async (tx) => {
    await write(tx);
    await writeProgress(tx, progress);
  });
  return progress;
}
