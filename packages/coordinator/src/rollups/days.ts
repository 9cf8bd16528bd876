import type { Kysely } from 'kysely';
import { DAY_MS } from '../domain/summary-range.ts';
import { timesBetween } from '../domain/uptime.ts';
import type { Database } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { moved } from './hours.ts';
import type { Progress } from './progress.ts';
import { statusHistories } from './status-history.ts';

/** Hours are kept for so long before the day that is rolled up. */
export const KEPT_HOURS_MS = 14 * DAY_MS;
const KEPT_DAYS_MS = 400 * DAY_MS;
/** Of one transaction, some 5 ms of the scheduling thread: at most so many monitors, and so many of their hours in regions. */
const MONITORS = 20;
const HOURS = 3_000;

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
  const { ids, isLast } = await nextMonitors(store.read, afterMonitor, { from: day, until: end });
  const histories = await statusHistories(store.read, ids, { from: day, until: end });
  const last = ids.at(-1);
  const after =
    isLast || last === undefined
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

/** The monitors after this one whose day is rolled up in one transaction: at least one, if there are any. */
async function nextMonitors(
  db: Kysely<Database>,
  afterMonitor: number,
  { from, until }: { from: number; until: number },
): Promise<{ ids: number[]; isLast: boolean }> {
  const monitors = await db
    .selectFrom('monitors')
    .select((monitor) => [
      'id',
      monitor
        .selectFrom('rollup_hours')
        .whereRef('monitor_id', '=', 'monitors.id')
        .where('at', '>=', from)
        .where('at', '<', until)
        .select(({ fn }) => fn.countAll<number>().as('hours'))
        .as('hours'),
    ])
    .where('id', '>', afterMonitor)
    .orderBy('id')
    .limit(MONITORS)
    .execute();
  const ids: number[] = [];
  let sum = 0;
  for (const { id, hours } of monitors) {
    sum += hours ?? 0;
    if (ids.length > 0 && sum > HOURS) break;
    ids.push(id);
  }
  return { ids, isLast: monitors.length < MONITORS && ids.length === monitors.length };
}
