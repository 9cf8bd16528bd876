import { rollupsByBucket, rollupsByRegion } from '../store/history/rollups.ts';
import { type Counts, seriesOfMonitor } from '../store/results/result-series.ts';
import type { Store } from '../store/store.ts';
import {
  bucketsUntil,
  DAY_MS,
  dayOf,
  hourOf,
  SUMMARY_RANGES,
  type SummaryRange,
} from '../verdict/summary-range.ts';
import { addTimes, NO_TIMES, type StatusTimes } from '../verdict/uptime.ts';
import { rolledUpUntil } from './progress.ts';
import { statusTimes } from './status-times.ts';
import { addCounts, addTally, emptyTally, type OutcomeCounts, tallyOf } from './tally.ts';

/** The results and the statuses of a monitor in a range that ends now. */
export type Summary = {
  /** The range of the summary, epoch ms. `until` is now. */
  from: number;
  until: number;
  bucketMs: number;
  /** Counts of all regions together. */
  total: OutcomeCounts;
  times: StatusTimes;
  regions: ReadonlyMap<string, OutcomeCounts>;
  /** Buckets, oldest first. The last bucket ends now. */
  buckets: readonly { at: number; tally: OutcomeCounts; times: StatusTimes }[];
};

/**
 * Reads the results and statuses of a monitor in a range, up to `now`. Results are read from roll-ups as far
 * as these reach. Later results are summed up from their own rows.
 *
 * @param now the slots' clock, epoch ms
 */
export async function readSummary(
  store: Pick<Store, 'read'>,
  monitorId: number,
  range: SummaryRange,
  now: number,
): Promise<Summary> {
  const { bucketMs, buckets: count } = SUMMARY_RANGES[range];
  const starts = bucketsUntil(now, bucketMs, count);
  const from = starts[0] ?? now;
  const tallies = new Map(starts.map((at) => [at, emptyTally()]));
  const regions = new Map<string, OutcomeCounts>();
  const bucketOf = bucketMs === DAY_MS ? dayOf : hourOf;
  const addToBucket = (at: number, row: Counts) => {
    const tally = tallies.get(bucketOf(at));
    if (tally !== undefined) addCounts(tally, row);
  };
  const addToRegion = (region: string, row: Counts) => addCounts(tallyOf(regions, region), row);

  // The progress is read before the rows. Results and hours that
  // are rolled up in between stay stored, so no row is missed.
  const { hour, day } = await rolledUpUntil(store, now);
  const daysUntil = bucketMs === DAY_MS ? Math.max(from, day) : from;
  const spans = {
    rollup_days: { from, until: daysUntil },
    rollup_hours: { from: daysUntil, until: hour },
  };
  for (const table of ['rollup_days', 'rollup_hours'] as const) {
    for (const row of await rollupsByBucket(store, table, monitorId, spans[table], bucketMs))
      addToBucket(row.key, row);
    for (const row of await rollupsByRegion(store, table, monitorId, spans[table])) addToRegion(row.key, row);
  }
  const recent = { from: Math.max(from, hour), until: now + 1 };
  for (const row of await seriesOfMonitor(store, monitorId, recent)) {
    addToBucket(row.at, row);
    addToRegion(row.region, row);
  }
  const times = await statusTimes(store, monitorId, { bucketMs, starts, now });
  const total = emptyTally();
  for (const tally of regions.values()) addTally(total, tally);
  return {
    from,
    until: now,
    bucketMs,
    total,
    times: times.reduce(addTimes, NO_TIMES),
    regions,
    buckets: starts.map((at, index) => ({
      at,
      tally: tallies.get(at) ?? emptyTally(),
      times: times[index] ?? NO_TIMES,
    })),
  };
}
