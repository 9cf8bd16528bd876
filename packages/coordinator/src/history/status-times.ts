import { statusHistories } from '../store/states/status-history.ts';
import type { Store } from '../store/store.ts';
import { bucketsUntil, DAY_MS, SUMMARY_RANGES, type SummaryRange } from '../verdict/summary-range.ts';
import { addTimes, NO_TIMES, type StatusTimes, timesBetween, withMaintenance } from '../verdict/uptime.ts';
import { type DayTimes, dailyTimes } from './daily-times.ts';
import { timesInWindows } from './times-in-windows.ts';

/** Neighbouring buckets of one width. Instants are epoch ms. */
export type Buckets = {
  readonly bucketMs: number;
  /** Beginnings of the buckets, ascending. */
  readonly starts: readonly number[];
  /** End of the last bucket. */
  readonly now: number;
};

/** How long a monitor had each status in each bucket. Buckets of a day are days in UTC. */
export async function statusTimes(
  store: Pick<Store, 'read'>,
  monitorId: number,
  { bucketMs, starts, now }: Buckets,
): Promise<StatusTimes[]> {
  if (bucketMs === DAY_MS) {
    const days = await dailyTimes(store, [monitorId], starts.length, now);
    return (days.get(monitorId) ?? []).map(({ times }) => times);
  }
  const edges = [...starts, now];
  const histories = await statusHistories(store, [monitorId], { from: starts[0] ?? now, until: now });
  const times = timesBetween(histories.get(monitorId) ?? [], edges);
  const inWindows = (await timesInWindows(store, [monitorId], edges)).get(monitorId);
  return times.map((time, index) => withMaintenance(time, inWindows?.[index] ?? NO_TIMES));
}

/** The ranges whose uptime people ask for, the shortest first. */
export const UPTIME_RANGES = ['24h', '7d', '30d', '90d'] as const satisfies readonly SummaryRange[];
export type UptimeRange = (typeof UPTIME_RANGES)[number];

export type Uptimes = {
  /** `from`: beginning of the range's first bucket, epoch ms. */
  readonly ranges: readonly { range: UptimeRange; from: number; times: StatusTimes }[];
  /** The days of the longest range, oldest first. */
  readonly days: readonly DayTimes[];
};

/**
 * How long a monitor had each status in each of the usual ranges. The ranges are those of the summaries, whose
 * uptimes are the same.
 *
 * @param now the slots' clock, epoch ms
 */
export async function readUptimes(
  store: Pick<Store, 'read'>,
  monitorId: number,
  now: number,
): Promise<Uptimes> {
  const startsOf = (range: UptimeRange) => {
    const { bucketMs, buckets } = SUMMARY_RANGES[range];
    return { bucketMs, starts: bucketsUntil(now, bucketMs, buckets), now };
  };
  const [hours, days] = [startsOf('7d'), startsOf('90d')];
  const timesOfHours = await statusTimes(store, monitorId, hours);
  const timesOfDays = await statusTimes(store, monitorId, days);
  const ranges = UPTIME_RANGES.map((range) => {
    const { bucketMs, starts } = startsOf(range);
    const times = bucketMs === DAY_MS ? timesOfDays : timesOfHours;
    const last = times.slice(-starts.length);
    return { range, from: starts[0] ?? now, times: last.reduce(addTimes, NO_TIMES) };
  });
  return {
    ranges,
    days: days.starts.map((at, index) => ({ at, times: timesOfDays[index] ?? NO_TIMES })),
  };
}
