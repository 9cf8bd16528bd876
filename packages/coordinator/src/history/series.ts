import type { Region } from '@svc/shared/regions.ts';
import { type RollupTable, rollupsByBucket, rollupsByRegionAndBucket } from '../store/history/rollups.ts';
import {
  type Counts,
  firstSlotFrom,
  type PhaseSums,
  phasesOfSlots,
  seriesOfMonitor,
  type TimeSpan,
} from '../store/results/result-series.ts';
import type { Store } from '../store/store.ts';
import { candidateSlots, sampledSlots } from '../verdict/candidate-slots.ts';
import {
  bucketOf,
  regionBuckets,
  type SeriesBuckets,
  type SeriesRange,
  seriesBuckets,
} from '../verdict/series-range.ts';
import { DAY_MS, HOUR_MS } from '../verdict/summary-range.ts';
import { rolledUpUntil } from './progress.ts';
import { addCounts, addTally, emptyTally, type OutcomeCounts, tallyOf } from './tally.ts';

/** Tallies by the start of their bucket, epoch ms. A bucket without results has no tally. */
export type TalliesByBucket = ReadonlyMap<number, OutcomeCounts>;

/** Numbers of results and latencies of a monitor in the buckets of a range. */
export type Series = {
  readonly buckets: SeriesBuckets;
  /** Counts of the requested region, or of all regions together. */
  readonly total: OutcomeCounts;
  readonly tallies: TalliesByBucket;
  /** Buckets of the tallies of single regions: as wide as `buckets`, or wider. */
  readonly regionBuckets: SeriesBuckets;
  /** The regions with results in the range. */
  readonly regions: ReadonlyMap<string, { total: OutcomeCounts; tallies: TalliesByBucket }>;
};

/**
 * Span of the results that one read covers, ms. With 28 regions and the finest period, the span has about
 * 17,000 results. Reading them takes the reading thread 20 ms.
 */
const PIECE_MS = 5 * HOUR_MS;

/** The reading of one monitor, with the tallies that it fills. */
type Reading = {
  readonly store: Pick<Store, 'read'>;
  readonly monitorId: number;
  /** Null: all regions. */
  readonly region: string | null;
  readonly buckets: SeriesBuckets;
  readonly regionBuckets: SeriesBuckets;
  readonly tallies: Map<number, OutcomeCounts>;
  readonly regions: Map<string, Map<number, OutcomeCounts>>;
};

/**
 * Reads the results of a monitor in a range as a series for charts, up to `now`. When a bucket is an hour or
 * longer, results come from roll-ups as far as these reach. All other results are summed up from their own
 * rows.
 *
 * @param asked.region   null: all regions together
 * @param asked.periodMs the monitor's present period, ms
 * @param now            the slots' clock, epoch ms
 */
export async function readSeries(
  store: Pick<Store, 'read'>,
  monitorId: number,
  asked: { range: SeriesRange; region: string | null; periodMs: number },
  now: number,
): Promise<Series> {
  const buckets = seriesBuckets(asked.range, now, asked.periodMs);
  const reading: Reading = {
    store,
    monitorId,
    region: asked.region,
    buckets,
    regionBuckets: regionBuckets(asked.range, buckets),
    tallies: new Map(),
    regions: new Map(),
  };
  const recentFrom = buckets.bucketMs < HOUR_MS ? buckets.from : await addRolledUp(reading, now);
  await addRecent(reading, { from: recentFrom, until: now + 1 });
  return {
    buckets,
    total: sumOf(reading.tallies),
    tallies: reading.tallies,
    regionBuckets: reading.regionBuckets,
    regions: new Map(
      [...reading.regions].map(([region, tallies]) => [region, { total: sumOf(tallies), tallies }]),
    ),
  };
}

/** @returns the end of the roll-ups, epoch ms */
async function addRolledUp(reading: Reading, now: number): Promise<number> {
  const { store, monitorId, region, buckets } = reading;
  const { from, bucketMs } = buckets;
  // The progress is read before the rows. Results and hours that
  // are rolled up in between stay stored, so no row is missed.
  const { hour, day: wholeDaysUntil } = await rolledUpUntil(store, now);
  const day = bucketMs === DAY_MS ? Math.max(from, wholeDaysUntil) : from;
  const spans: [RollupTable, TimeSpan][] = [
    ['rollup_days', { from, until: day }],
    ['rollup_hours', { from: day, until: hour }],
  ];
  // If the regions have the same buckets as the whole series, their rows are added to the whole series too.
  // Otherwise, the whole series needs a query of its own.
  const isJoined = reading.regionBuckets.bucketMs > bucketMs;
  for (const [table, span] of spans) {
    const rows = await rollupsByRegionAndBucket(store, table, monitorId, span, reading.regionBuckets);
    for (const row of rows) {
      addToRegion(reading, row);
      if (!isJoined) addToWhole(reading, row);
    }
    if (!isJoined) continue;
    for (const row of await rollupsByBucket(store, table, monitorId, span, bucketMs, region))
      addCounts(tallyOf(reading.tallies, row.key), row);
  }
  return Math.max(from, hour);
}

/**
 * Adds results from their own rows, and not from roll-ups. They are read in pieces, so that other reads get
 * turns in between.
 */
async function addRecent(reading: Reading, { from, until }: TimeSpan): Promise<void> {
  const { store, monitorId, buckets } = reading;
  const width = Math.min(buckets.bucketMs, HOUR_MS);
  for (let piece = from; piece < until; piece += PIECE_MS) {
    const span = { from: piece, until: Math.min(piece + PIECE_MS, until) };
    for (const row of await seriesOfMonitor(store, monitorId, span, width)) {
      addToRegion(reading, row);
      addToWhole(reading, row);
    }
  }
}

type RegionRow = Counts & { readonly region: string; readonly at: number };

function addToWhole({ region, buckets, tallies }: Reading, row: RegionRow): void {
  if (region === null || region === row.region) addCounts(tallyOf(tallies, bucketOf(buckets, row.at)), row);
}

function addToRegion({ regions, regionBuckets: wide }: Reading, row: RegionRow): void {
  const tallies = regions.get(row.region) ?? new Map<number, OutcomeCounts>();
  regions.set(row.region, tallies);
  addCounts(tallyOf(tallies, bucketOf(wide, row.at)), row);
}

function sumOf(tallies: TalliesByBucket): OutcomeCounts {
  const total = emptyTally();
  for (const tally of tallies.values()) addTally(total, tally);
  return total;
}

/** Maximum number of results to read. They take the reading thread about 30 ms. */
const MOST_RESULTS = 6_000;

/** Durations of the phases of a monitor's checks in the buckets of a range. */
export type PhaseSeries = {
  readonly buckets: SeriesBuckets;
  /** Distance of the slots that were read, in slots: 1 for all slots, 2 for every second one. */
  readonly every: number;
  /** Sums by the start of their bucket, epoch ms. A bucket in which no result has phases has no sum. */
  readonly sums: ReadonlyMap<number, PhaseSums>;
};

/**
 * Reads how long the phases of a monitor's checks took, in each bucket of a range. Roll-ups have no phases,
 * so this function reads the results on the grid of the present period: all of them, or an even sample if there
 * are too many. A phase that did not
 * happen counts as 0, so the means of the phases add up to the mean latency.
 *
 * @param asked.region null: all regions together
 * @param asked.regionCount number of regions that the monitor is checked from
 * @param asked.periodMs the monitor's present period, ms
 * @param now the slots' clock, epoch ms
 */
export async function readPhases(
  store: Pick<Store, 'read'>,
  monitorId: number,
  asked: { range: SeriesRange; region: Region | null; regionCount: number; periodMs: number },
  now: number,
): Promise<PhaseSeries> {
  const { range, region, periodMs } = asked;
  const buckets = regionBuckets(range, seriesBuckets(range, now, periodMs));
  const from = (await firstSlotFrom(store, buckets.from)) ?? now;
  const slotCount = (now - from) / periodMs;
  const regionCount = region === null ? Math.max(1, asked.regionCount) : 1;
  const every = Math.max(1, Math.ceil((slotCount * regionCount) / MOST_RESULTS));
  // Slots off the grid of the present period are left out: first slots, most slots of a shorter earlier period,
  // and slots of a start that shifted the grids. A look-up of every slot of the finest period could exceed
  // `MOST_RESULTS`, and a sample of these slots would miss most slots of a long period.
  const all = candidateSlots(monitorId, periodMs, { from, until: now }, []);
  const slots = [...sampledSlots(all, every)];
  const sums = await phasesOfSlots(store, slots, { monitorId, region, buckets });
  return { buckets, every, sums: new Map(sums.map((sum) => [sum.at, sum])) };
}
