export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** What a summary may be about: so many buckets, the one in progress included, of hours or of days (UTC). */
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

/** Beginnings of `count` buckets of `widthMs`, the last of which holds `now`. */
export function bucketsUntil(now: number, widthMs: number, count: number): number[] {
  const last = now - (now % widthMs);
  return Array.from({ length: count }, (_, index) => last - (count - 1 - index) * widthMs);
}
