import { hourlyLatencies } from '../store/history/rollups.ts';
import type { Store } from '../store/store.ts';
import { addEncoded, emptyHistogram, percentile } from '../verdict/latency-histogram.ts';
import { bucketsUntil, HOUR_MS, SUMMARY_RANGES } from '../verdict/summary-range.ts';
import type { StatusTimes } from '../verdict/uptime.ts';
import { rolledUpUntil } from './progress.ts';
import { dailyTimes, hourlyTimes } from './status-times.ts';

/** What a list shows of the last days of a monitor. */
export type RecentHistory = {
  /** Time in each status in each of the last 24 hours, oldest first. The last hour is in progress. */
  readonly hours: readonly StatusTimes[];
  /** Time in each status on each of the last 90 days (UTC), oldest first. The last day is today. */
  readonly days: readonly StatusTimes[];
  /** Median latency over the last 24 hours that are rolled up, ms; null: no latency was measured. */
  readonly median: number | null;
  /** Median latency in each of these hours, oldest first. */
  readonly medians: readonly (number | null)[];
};

const HOURS = SUMMARY_RANGES['24h'].buckets;
const DAYS = SUMMARY_RANGES['90d'].buckets;

/**
 * The recent histories of these monitors, read together with a few queries.
 *
 * Deleted monitors have no entry. The caller must check that the monitors belong to the workspace.
 *
 * @param now the slots' clock, epoch ms
 */
export async function recentHistories(
  store: Pick<Store, 'read'>,
  monitorIds: readonly number[],
  now: number,
): Promise<ReadonlyMap<number, RecentHistory>> {
  const [days, hours, latencies] = await Promise.all([
    dailyTimes(store, monitorIds, DAYS, now),
    hourlyTimes(store, monitorIds, { starts: bucketsUntil(now, HOUR_MS, HOURS), now }),
    recentLatencies(store, monitorIds, now),
  ]);
  return new Map(
    [...days].map(([id, times]) => [
      id,
      {
        hours: hours.get(id) ?? [],
        days: times.map((day) => day.times),
        ...latenciesIn(latencies.of.get(id) ?? new Map(), latencies.starts),
      },
    ]),
  );
}

/** Encoded histograms by the beginning of their hour, epoch ms. */
type HistogramByHour = Map<number, Uint8Array>;

async function recentLatencies(
  store: Pick<Store, 'read'>,
  monitorIds: readonly number[],
  now: number,
): Promise<{ readonly starts: readonly number[]; readonly of: ReadonlyMap<number, HistogramByHour> }> {
  const { hour: until } = await rolledUpUntil(store, now);
  const starts = bucketsUntil(until - 1, HOUR_MS, HOURS);
  const of = new Map<number, HistogramByHour>();
  for (const { id, at, latency } of await hourlyLatencies(store, monitorIds, {
    from: starts[0] ?? until,
    until,
  })) {
    if (latency === null) continue;
    const byHour = of.get(id) ?? new Map();
    of.set(id, byHour.set(at, latency));
  }
  return { starts, of };
}

function latenciesIn(
  byHour: HistogramByHour,
  starts: readonly number[],
): Pick<RecentHistory, 'median' | 'medians'> {
  const total = emptyHistogram();
  const medians = starts.map((at) => {
    const encoded = byHour.get(at);
    if (encoded === undefined) return null;
    const histogram = emptyHistogram();
    addEncoded(histogram, encoded);
    addEncoded(total, encoded);
    return percentile(histogram, 0.5);
  });
  return { median: percentile(total, 0.5), medians };
}
