import { type RecentDays, recentDays } from '../store/history/uptime-days.ts';
import type { Store } from '../store/store.ts';
import { bucketsUntil, DAY_MS } from '../verdict/summary-range.ts';
import { NO_TIMES, type StatusTimes, timesBetween, withMaintenance } from '../verdict/uptime.ts';
import { timesInWindows } from './times-in-windows.ts';

export type DayTimes = {
  /** Beginning of the day in UTC, epoch ms. */
  readonly at: number;
  readonly times: StatusTimes;
};

/**
 * How long each monitor had each status on each of the last `count` days, oldest first, today until `now`
 * included: the bars of a status page, in one query for all of its components, and another one where they have
 * maintenance windows.
 *
 * Deleted monitors have no data. The caller must check the workspace.
 *
 * @param now the slots' clock, epoch ms
 */
export async function dailyTimes(
  store: Pick<Store, 'read'>,
  monitorIds: readonly number[],
  count: number,
  now: number,
): Promise<ReadonlyMap<number, readonly DayTimes[]>> {
  const days = bucketsUntil(now, DAY_MS, count);
  const found = await recentDays(store, monitorIds, { from: days[0] ?? now, now });
  const whole = new Map(found.map((recent) => [recent.id, timesOf(recent, days, now)]));
  const maintained = await timesInWindows(store, monitorIds, [...days, now]);
  for (const [id, inWindows] of maintained) {
    const times = whole.get(id)?.map((day, index) => {
      const part = inWindows[index];
      return part === undefined ? day : { ...day, times: withMaintenance(day.times, part) };
    });
    if (times !== undefined) whole.set(id, times);
  }
  return whole;
}

function timesOf(
  { since, rolledUp, history }: RecentDays,
  starts: readonly number[],
  now: number,
): DayTimes[] {
  const known = new Map(rolledUp.map(({ at, times }) => [at, times]));
  const open = starts.filter((at) => at >= since);
  const recent = timesBetween(history, [...open, now]);
  open.forEach((at, index) => {
    known.set(at, recent[index] ?? NO_TIMES);
  });
  return starts.map((at) => ({ at, times: known.get(at) ?? { ...NO_TIMES, unknown: DAY_MS } }));
}
