import {
  dueRepairs,
  type Progress,
  type Repair,
  resultsFrom,
  takeRepairs,
  writeProgress,
} from '../store/history/rollup-progress.ts';
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
import { statusHistories } from '../store/states/transitions.ts';
import type { Store, Transaction } from '../store/store.ts';
import { FINEST_PERIOD_MS } from '../verdict/schedule.ts';
import { DAY_MS, dayOf, HOUR_MS, hourOf } from '../verdict/summary-range.ts';
import { NO_TIMES, type StatusTimes, timesBetween } from '../verdict/uptime.ts';

/** Number of results that one read should sum up. Such a read takes the reading thread about 5 ms. */
const RESULTS = 5_000;
/**
 * Number of rows that one transaction should write, for hours and for repairs. Recording waits about 4 ms for
 * the transaction.
 */
const ROWS = 300;
/**
 * Width of the first part of each hour, ms; see {@link PartWidth}. Such a part has few
 * results even with very many monitors. Every hour begins with this width, because
 * monitors may have been added since the hour before.
 */
const FIRST_WIDTH_MS = 4;
/** Largest factor by which the width changes from one part to the next. */
const MOST_CHANGE = 8;

/**
 * Width of the next part of an hour, ms, estimated from the parts before it. A part
 * consists of the same slice of each of the hour's 120 half minutes: with a width
 * of 4 ms, the first part has the slots in the first 4 ms of each half minute.
 */
type PartWidth = { ms: number };
export const firstWidth = (): PartWidth => ({ ms: FIRST_WIDTH_MS });

/**
 * Rolls up the next part of the oldest hour that is not completely rolled up. Hours without results are
 * skipped together.
 *
 * @param closedUntil start of the first hour that must not be rolled up yet, epoch ms. A result for an
 *   earlier hour that is recorded later gets a mark for repair
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

/**
 * Retention of the rows of hours, ms, counted back from the day that is being rolled up, or from the believed
 * day if that is earlier.
 */
export const KEPT_HOURS_MS = 14 * DAY_MS;
/** Retention of the rows of days, ms, counted back as that of hours. */
const KEPT_DAYS_MS = 400 * DAY_MS;
/** Maximum number of monitors in one transaction. Recording waits about 5 ms for the transaction. */
const MONITORS = 20;
/** Maximum number of rows of hours in one transaction, unless a single monitor has more. */
const HOURS = 3_000;

/**
 * Rolls up the oldest finished day for the next few monitors. The hours of the day become
 * one row for each region. The statuses become one row with the time in each status.
 * Roll-ups of these monitors that are too old are deleted.
 *
 * @param believedNow the clock for ages, epoch ms; see `believed-clock.ts`
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
  // Ages follow the believed clock, so that a system clock that is ahead deletes nothing.
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

/** The next monitors whose day is rolled up in one transaction: at least one monitor, if any is left. */
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

/** Maximum number of repairs in one transaction. */
const REPAIRS = 20;

/** A span of one monitor that must be rolled up again, with its marks for repair. */
type SpanRepair = TimeSpan & { monitorId: number; repairs: Repair[] };

/** What a repair writes: the results of the span, and the times in each status of its day. */
type Found = { readonly span: SpanRepair; readonly rows: HourRow[]; readonly times: StatusTimes };

/**
 * The time in each status on the day. A repair reads these times again, because a change of status may be
 * dated back to a day that is rolled up: to the expiry of votes, or to the first of the slots in a row that
 * made the change.
 */
async function timesOfDay(store: Store, monitorId: number, day: number): Promise<StatusTimes> {
  const span = { from: day, until: day + DAY_MS };
  const histories = await statusHistories(store, [monitorId], span);
  return timesBetween(histories.get(monitorId) ?? [], [span.from, span.until])[0] ?? NO_TIMES;
}

/**
 * Repeats the roll-up of hours that are marked for it (see {@link Repair}). A repair reads all results of the
 * hour, so a second repair changes nothing.
 *
 * @param closedUntil start of the first hour that must not be rolled up yet, epoch ms
 * @returns false: there was nothing to do
 */
export async function repairHours(store: Store, progress: Progress, closedUntil: number): Promise<boolean> {
  // Later hours are not repaired yet. They are not completely rolled up, or they
  // will get more results because the clock was ahead.
  const due = await dueRepairs(store, Math.min(progress.hour, closedUntil), REPAIRS);
  if (due.length === 0) return false;
  const found: Found[] = [];
  let rowsFound = 0;
  for (const span of spansOf(due, progress)) {
    if (rowsFound >= ROWS) break;
    const rows = await seriesOfMonitor(store, span.monitorId, span);
    rowsFound += rows.length;
    found.push({ span, rows, times: await timesOfDay(store, span.monitorId, dayOf(span.from)) });
  }
  await store.transaction((tx) => write(tx, progress, found));
  return true;
}

/**
 * The spans to repair. A span with several marks is in the list once,
 * because it is read and written as a whole.
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

/** The span to repair: the hour, or its whole day if other hours of the day may be deleted already. */
function spanOf(hour: number, { day }: Progress): TimeSpan {
  if (hour >= day - KEPT_HOURS_MS) return { from: hour, until: hour + HOUR_MS };
  return { from: dayOf(hour), until: dayOf(hour) + DAY_MS };
}

async function write(
  tx: Transaction,
  { day: nextDay, afterMonitor }: Progress,
  found: readonly Found[],
): Promise<void> {
  const taken = await takeRepairs(
    tx,
    found.flatMap(({ span }) => span.repairs),
  );
  const completeFrom = await resultsFrom(tx);
  // Spans before `completeFrom` are left out, because some of their results are deleted.
  const repaired = found.filter(
    ({ span }) => span.from >= completeFrom && span.repairs.some((repair) => taken.has(repair)),
  );
  await replaceHours(
    tx,
    repaired.map(({ span }) => span),
    repaired.flatMap(({ rows }) => rows),
  );
  const isRolledUp = ({ span }: Found) =>
    dayOf(span.from) < nextDay || (dayOf(span.from) === nextDay && span.monitorId <= afterMonitor);
  const days = repaired.filter(isRolledUp).map(({ span, times }) => {
    return { monitorId: span.monitorId, day: dayOf(span.from), times };
  });
  await writeDays(tx, days);
  await writeUptimes(tx, days);
}

/** Runs `write` and stores the new progress, in one transaction. */
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
