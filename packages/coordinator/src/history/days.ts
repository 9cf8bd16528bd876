import type { Progress } from '../store/history/rollup-progress.ts';
import { expireRollups, monitorsWithHours, writeDays } from '../store/history/rollups.ts';
import { writeUptimes } from '../store/history/uptime-days.ts';
import type { TimeSpan } from '../store/results/result-series.ts';
import { statusHistories } from '../store/states/status-history.ts';
import type { Store } from '../store/store.ts';
import { DAY_MS, dayOf } from '../verdict/summary-range.ts';
import { timesBetween } from '../verdict/uptime.ts';
import { moved } from './moved.ts';

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
  return moved(store, after, async (tx) => {
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
