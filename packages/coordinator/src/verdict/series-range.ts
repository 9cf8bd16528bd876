import { bucketsUntil, DAY_MS, HOUR_MS } from './summary-range.ts';

const MINUTE_MS = 60_000;

/**
 * The ranges of a series for a chart: width of a bucket, and number of buckets with
 * the bucket in progress. `regionBuckets` is the maximum number of buckets that are
 * shown for each region; it divides the number of buckets.
 */
export const SERIES_RANGES = {
  '1h': { bucketMs: MINUTE_MS, buckets: 60, regionBuckets: 60 },
  '6h': { bucketMs: 5 * MINUTE_MS, buckets: 72, regionBuckets: 72 },
  '24h': { bucketMs: HOUR_MS / 2, buckets: 48, regionBuckets: 48 },
  '7d': { bucketMs: HOUR_MS, buckets: 168, regionBuckets: 56 },
  '14d': { bucketMs: HOUR_MS, buckets: 336, regionBuckets: 56 },
  '90d': { bucketMs: DAY_MS, buckets: 90, regionBuckets: 90 },
} as const;
export type SeriesRange = keyof typeof SERIES_RANGES;

/** Neighbouring buckets of equal width. Instants are epoch ms. */
export type SeriesBuckets = {
  /** Beginning of the first bucket. */
  readonly from: number;
  readonly bucketMs: number;
  readonly count: number;
};

/**
 * The buckets of a range. A bucket is as long as the monitor's period or longer, so a bucket without a result
 * means that the monitor was not checked in it.
 *
 * @param periodMs the monitor's period, ms; it divides an hour
 */
export function seriesBuckets(range: SeriesRange, now: number, periodMs: number): SeriesBuckets {
  const { bucketMs: finest, buckets } = SERIES_RANGES[range];
  const bucketMs = Math.max(finest, periodMs);
  const count = (buckets * finest) / bucketMs;
  return { from: bucketsUntil(now, bucketMs, count)[0] ?? now, bucketMs, count };
}

/**
 * The buckets that are shown for each region. If the series has more buckets than are shown for a region,
 * several neighbouring buckets are joined into one.
 */
export function regionBuckets(range: SeriesRange, { from, bucketMs, count }: SeriesBuckets): SeriesBuckets {
  const joined = Math.max(1, count / SERIES_RANGES[range].regionBuckets);
  return { from, bucketMs: bucketMs * joined, count: count / joined };
}

/**
 * Beginning of the bucket that contains the instant.
 *
 * @param instant not before `from`
 */
export function bucketOf({ from, bucketMs }: SeriesBuckets, instant: number): number {
  return instant - ((instant - from) % bucketMs);
}
