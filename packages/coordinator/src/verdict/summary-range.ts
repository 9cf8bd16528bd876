export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/**
 * The ranges of a summary: width and number of the buckets, which are hours or days (UTC). The bucket in
 * progress is included.
 */
export const SUMMARY_RANGES = {
  '24h': { bucketMs: HOUR_MS, buckets: 24 },
  '7d': { bucketMs: HOUR_MS, buckets: 7 * 24 },
  '30d': { bucketMs: DAY_MS, buckets: 30 },
  '90d': { bucketMs: DAY_MS, buckets: 90 },
  '400d': { bucketMs: DAY_MS, buckets: 400 },
} as const;
export type SummaryRange = keyof typeof SUMMARY_RANGES;

/** Beginning of the hour that contains the instant. Both are epoch ms. */
export function hourOf(instant: number): number {
  return instant - (instant % HOUR_MS);
}

/** Beginning of the UTC day that contains the instant. Both are epoch ms. */
export function dayOf(instant: number): number {
  return instant - (instant % DAY_MS);
}

/** Beginnings of `count` buckets of `widthMs`. The last bucket contains `now`. */
export function bucketsUntil(now: number, widthMs: number, count: number): number[] {
  const last = now - (now % widthMs);
  return Array.from({ length: count }, (_, index) => last - (count - 1 - index) * widthMs);
}
