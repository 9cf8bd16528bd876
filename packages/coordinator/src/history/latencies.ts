import { rollupsByBucket } from '../store/history/rollups.ts';
import type { Store } from '../store/store.ts';
import {
  addEncoded,
  emptyHistogram,
  type LatencyHistogram,
  percentile,
} from '../verdict/latency-histogram.ts';
import { bucketsUntil, DAY_MS, HOUR_MS } from '../verdict/summary-range.ts';
import { closedUntil, readProgress } from './progress.ts';

/** The ranges of latencies: a number of buckets that a small chart can show. */
export const LATENCY_RANGES = {
  '24h': { bucketMs: 3 * HOUR_MS, buckets: 8 },
  '7d': { bucketMs: DAY_MS, buckets: 7 },
} as const;
export type LatencyRange = keyof typeof LATENCY_RANGES;

/** Half of the answers took no longer than the median, and 95 of 100 no longer than p95: ms; null: none was measured. */
export type Latency = { readonly median: number | null; readonly p95: number | null };

/** How fast a monitor answered, over all of its regions. Failures have no latency. */
export type Latencies = Latency & {
  /** Buckets, the oldest first. `at`: the beginning, epoch ms. */
  readonly buckets: readonly (Latency & { readonly at: number })[];
};

/** The time that is rolled up, in which latencies are looked for. It changes once an hour. */
export type LatencySpan = {
  readonly range: LatencyRange;
  /** Beginning of the first hour that is not rolled up yet, epoch ms. */
  readonly until: number;
};

/** @param now the slots' clock, epoch ms */
export async function latencySpan(
  store: Pick<Store, 'read'>,
  range: LatencyRange,
  now: number,
): Promise<LatencySpan> {
  const { hour } = await readProgress(store, now);
  // Roll-ups of later times come from a clock that was ahead.
  return { range, until: Math.min(hour, closedUntil(now)) };
}

/** The latencies of a monitor, from the roll-ups alone: what was measured since `until` is not in them. */
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
