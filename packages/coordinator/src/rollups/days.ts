import { DAY_MS } from '../domain/summary-range.ts';
import { timesBetween } from '../domain/uptime.ts';
import type { Store } from '../store/store.ts';
import { moved } from './hours.ts';
import type { Progress } from './progress.ts';
import { statusHistories } from './status-history.ts';

/** Hours are kept for so long before the day that is rolled up. */
export const KEPT_HOURS_MS = 14 * DAY_MS;
const KEPT_DAYS_MS = 400 * DAY_MS;
/** Of one transaction: some 5 ms of the scheduling thread with three regions. */
const MONITORS = 20;

/**
 * Rolls up the oldest day that is over for the next few monitors: its hours into a row per region, their
 * verdicts into an uptime. Deletes what these monitors have that is too old.
 *
 * @returns how far it is now; null: nothing was to be done
 */
export async function rollUpDay(store: Store, progress: Progress): Promise<Progress | null> {
  const { hour, day, afterMonitor } = progress;
  const end = day + DAY_MS;
  if (hour < end) return null;
  const monitors = await store.read
    .selectFrom('monitors')
    .select('id')
    .where('id', '>', afterMonitor)
    .orderBy('id')
    .limit(MONITORS)
    .execute();
  const ids = monitors.map(({ id }) => id);
  const histories = await statusHistories(store.read, ids, { from: day, until: end });
  const last = ids.at(-1);
  const after =
    ids.length < MONITORS || last === undefined
      ? { ...progress, day: end, afterMonitor: 0 }
      : { ...progress, afterMonitor: last };
  return moved(store, after, (statements) => {
    for (const id of ids) {
      if (!statements.isMonitor(id)) continue;
      statements.writeDay(id, day);
      const [times] = timesBetween(histories.get(id) ?? [], [day, end]);
      if (times !== undefined) statements.writeUptime(id, day, times);
      statements.expire(id, { hoursFrom: day - KEPT_HOURS_MS, daysFrom: day - KEPT_DAYS_MS });
    }
  });
}
