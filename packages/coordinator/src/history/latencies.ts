import { rollupsByBucket } from '../store/history/rollups.ts';
import type { Store } from '../store/store.ts';
import {
  addEncoded,
  emptyHistogram,
  type LatencyHistogram,
  percentile,
} from '../verdict/latency-histogram.ts';
import { bucketsUntil, DAY_MS, HOUR_MS } from '../verdict/summary-range.ts';
import { rolledUpUntil } from './progress.ts';

/** The ranges of latencies. Each has as many buckets as a small chart can show. */
export const LATENCY_RANGES = {
  '24h': { bucketMs: 3 * HOUR_MS, buckets: 8 },
  '7d': { bucketMs: DAY_MS, buckets: 7 },
} as const;
export type LatencyRange = keyof typeof LATENCY_RANGES;

/**
 * Percentiles of latencies, ms; null: no latency was measured. Half of the answers took at most `median`, and
 * 95 % took at most `p95`.
 */
export type Latency = { readonly median: number | null; readonly p95: number | null };

/** The latencies of a monitor in all its regions. Latencies of failed checks are left out. */
export type Latencies = Latency & {
  /** Buckets, oldest first. `at`: start of the bucket, epoch ms. */
  readonly buckets: readonly (Latency & { readonly at: number })[];
};

/** A range of latencies that ends at the end of the usable roll-ups. The end moves once an hour. */
export type LatencySpan = {
  readonly range: LatencyRange;
  /** End of the usable roll-ups of hours, epoch ms ({@link rolledUpUntil}). */
  readonly until: number;
};

/** @param now the slots' clock, epoch ms */
export async function latencySpan(
  store: Pick<Store, 'read'>,
  range: LatencyRange,
  now: number,
): Promise<LatencySpan> {
  const { hour } = await rolledUpUntil(store, now);
  return { range, until: hour };
}

/** The latencies of a monitor, from roll-ups only. Results since `until` are left out. */
export async function latenciesOf(
  store: Pick<Store, 'read'>,
  monitorId: number,
  { range, until }: LatencySpan,
): Promise<Latencies> {
  const { bucketMs, buckets: count } = LATENCY_RANGES[range];
  const starts = bucketsUntil(until - 1, bucketMs, count);
  const span = { from: starts[0] ?? until, until };
  const rows = await rollupsByBucket(store, 'rollup_hours', monitorId, span, bucketMs);
  const found = new Map(rows.map(({ key, latency }) => [key, latency]));
  const total = emptyHistogram();
  const buckets = starts.map((at) => {
    const encoded = found.get(at) ?? null;
    const histogram = emptyHistogram();
    if (encoded !== null) {
      addEncoded(histogram, encoded);
      addEncoded(total, encoded);
    }
    return { at, ...latencyIn(histogram) };
  });
  return { ...latencyIn(total), buckets };
}

function latencyIn(histogram: LatencyHistogram): Latency {
  return { median: percentile(histogram, 0.5), p95: percentile(histogram, 0.95) };
}
