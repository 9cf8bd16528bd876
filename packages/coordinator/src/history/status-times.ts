import { type RecentDays, recentDays } from '../store/history/uptime-days.ts';
import { windowTimesOf } from '../store/incidents/maintenance-windows.ts';
import { type MonitorSpan, statusesIn, statusHistories } from '../store/states/transitions.ts';
import type { Store } from '../store/store.ts';
import {
  mergeSpans,
  type Occurrence,
  occurrencesIn,
  type WindowTimes,
} from '../verdict/maintenance-window.ts';
import { bucketsUntil, DAY_MS, SUMMARY_RANGES, type SummaryRange } from '../verdict/summary-range.ts';
import { addTimes, NO_TIMES, type StatusTimes, timesBetween, withMaintenance } from '../verdict/uptime.ts';

/** How long a monitor had each status on one day. */
export type DayTimes = {
  /** Beginning of the day in UTC, epoch ms. */
  readonly at: number;
  readonly times: StatusTimes;
};

/**
 * How long each monitor had each status on each of the last `count` days, oldest
 * first. The last day is today, until `now`. Status pages draw their bars from these
 * times. All monitors are read together, with a few queries.
 *
 * Deleted monitors are missing. The caller must check that the monitors belong to the workspace.
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

/** Consecutive buckets of one width. Instants are epoch ms. */
export type Buckets = {
  readonly bucketMs: number;
  /** Start of each bucket, ascending. */
  readonly starts: readonly number[];
  /** End of the last bucket. */
  readonly now: number;
};

/** How long a monitor had each status in each bucket. Buckets of one day are days in UTC. */
export async function statusTimes(
  store: Pick<Store, 'read'>,
  monitorId: number,
  buckets: Buckets,
): Promise<readonly StatusTimes[]> {
  if (buckets.bucketMs !== DAY_MS)
    return (await hourlyTimes(store, [monitorId], buckets)).get(monitorId) ?? [];
  const days = await dailyTimes(store, [monitorId], buckets.starts.length, buckets.now);
  return (days.get(monitorId) ?? []).map(({ times }) => times);
}

/**
 * How long each monitor had each status in each bucket, from the changes of status. All monitors are read
 * together. For buckets of days, {@link dailyTimes} reads less, because it uses roll-ups.
 */
export async function hourlyTimes(
  store: Pick<Store, 'read'>,
  monitorIds: readonly number[],
  { starts, now }: Pick<Buckets, 'starts' | 'now'>,
): Promise<ReadonlyMap<number, readonly StatusTimes[]>> {
  const edges = [...starts, now];
  const histories = await statusHistories(store, monitorIds, { from: starts[0] ?? now, until: now });
  const maintained = await timesInWindows(store, monitorIds, edges);
  return new Map(
    monitorIds.map((id) => {
      const inWindows = maintained.get(id);
      const times = timesBetween(histories.get(id) ?? [], edges);
      return [id, times.map((time, index) => withMaintenance(time, inWindows?.[index] ?? NO_TIMES))];
    }),
  );
}

/** The ranges for which pages show the uptime, shortest first. */
export const UPTIME_RANGES = ['24h', '7d', '30d', '90d'] as const satisfies readonly SummaryRange[];
type UptimeRange = (typeof UPTIME_RANGES)[number];

/** How long a monitor had each status in several ranges, and on each day of the longest range. */
export type Uptimes = {
  /** `from`: start of the first bucket of the range, epoch ms. */
  readonly ranges: readonly { range: UptimeRange; from: number; times: StatusTimes }[];
  /** The days of the longest range, oldest first. */
  readonly days: readonly DayTimes[];
};

/**
 * How long a monitor had each status in each of {@link UPTIME_RANGES}. The ranges have the buckets of the
 * summaries, so both give the same uptimes.
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

/** A part of a maintenance occurrence that is within one bucket, with the index of the bucket. */
type Piece = MonitorSpan & { readonly bucket: number };

/**
 * How long each monitor had each status during maintenance, in each bucket. The times are
 * computed from the changes of status. So a window that is declared, changed or removed affects
 * earlier buckets at once. Monitors without windows are missing.
 *
 * @param edges the start of each bucket and the end of the last one, epoch ms, ascending
 */
async function timesInWindows(
  store: Pick<Store, 'read'>,
  monitorIds: readonly number[],
  edges: readonly number[],
): Promise<ReadonlyMap<number, readonly StatusTimes[]>> {
  const windows = await windowTimesOf(store, monitorIds);
  if (windows.size === 0) return new Map();
  const occurrences = occurrencesOfEach(windows, edges);
  const pieces = [...windows].flatMap(([monitorId, times]) =>
    piecesOf(monitorId, mergeSpans(times.flatMap((window) => occurrences.get(window) ?? [])), edges),
  );
  const statuses = await statusesIn(store, pieces);
  const found = new Map<number, StatusTimes[]>(
    [...windows.keys()].map((id) => [id, edges.slice(1).map(() => NO_TIMES)]),
  );
  for (const [index, { monitorId, bucket, from, until }] of pieces.entries()) {
    const [times = NO_TIMES] = timesBetween(statuses[index] ?? [], [from, until]);
    const buckets = found.get(monitorId);
    if (buckets !== undefined) buckets[bucket] = addTimes(buckets[bucket] ?? NO_TIMES, times);
  }
  return found;
}

/**
 * The occurrences of each window. They are computed once for all monitors of the
 * window, because computing an occurrence takes about 30 µs.
 */
function occurrencesOfEach(
  windows: ReadonlyMap<number, readonly WindowTimes[]>,
  edges: readonly number[],
): ReadonlyMap<WindowTimes, readonly Occurrence[]> {
  const [first = 0, last = 0] = [edges[0], edges.at(-1)];
  const all = new Set([...windows.values()].flat());
  return new Map([...all].map((window) => [window, occurrencesIn(window, first, last)]));
}

/**
 * Splits the maintenance of a monitor at the edges of the buckets.
 *
 * @param spans ascending, without overlaps
 */
function piecesOf(monitorId: number, spans: readonly Occurrence[], edges: readonly number[]): Piece[] {
  const last = edges.at(-1) ?? 0;
  const pieces: Piece[] = [];
  let bucket = 0;
  for (const span of spans) {
    while ((edges[bucket + 1] ?? last) <= span.from && bucket + 2 < edges.length) bucket += 1;
    for (let at = bucket; at + 1 < edges.length; at += 1) {
      const from = Math.max(span.from, edges[at] ?? 0);
      const until = Math.min(span.until, edges[at + 1] ?? 0);
      if (until <= from) break;
      pieces.push({ monitorId, bucket: at, from, until });
    }
  }
  return pieces;
}
