export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** The ranges of a summary: a number of buckets of hours or of days (UTC), the one in progress included. */
export const SUMMARY_RANGES = {
  '24h': { bucketMs: HOUR_MS, buckets: 24 },
  '7d': { bucketMs: HOUR_MS, buckets: 7 * 24 },
  '30d': { bucketMs: DAY_MS, buckets: 30 },
  '90d': { bucketMs: DAY_MS, buckets: 90 },
  '400d': { bucketMs: DAY_MS, buckets: 400 },
} as const;
export type SummaryRange = keyof typeof SUMMARY_RANGES;

export function hourOf(instant: number): number {
  return instant - (instant % HOUR_MS);
}

/** Beginning of the day in UTC. */
export function dayOf(instant: number): number {
  return instant - (instant % DAY_MS);
}

/** Beginnings of `count` buckets of `widthMs`. The last bucket holds `now`. */
export function bucketsUntil(now: number, widthMs: number, count: number): number[] {
  const last = now - (now % widthMs);
  return Array.from({ length: count }, (_, index) => last - (count - 1 - index) * widthMs);
}
