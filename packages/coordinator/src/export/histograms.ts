import { z } from 'zod';

/** Buckets per doubling are 2 to the power of it: 8, so a value is known within 4.4 %, as roll-ups know it within 5. */
const FINEST_SCALE = 3;
/** As OpenTelemetry's SDKs have it: 20 doublings at the finest scale, from 0.1 ms to over 100 s. */
const MAX_BUCKETS = 160;
const NS_PER_MS = 1e6;
const NS_PER_S = 1e9;

/**
 * A histogram of durations. Exponential: bucket i holds the values over base^(offset + i), up to base^(offset + i + 1), where
 * base is 2^(2^-scale) (OpenTelemetry's data model, "ExponentialHistogram"). Explicit: buckets by {@link EXPLICIT_BOUNDS}, the
 * last holds what is above them.
 */
export const histogram = z.object({
  count: z.number(),
  /** Whole nanoseconds, so that sums are exact. */
  sumNs: z.number(),
  /** Null: explicit. */
  scale: z.number().nullable(),
  /** Values of 0; exponential only, as the offset. */
  zero: z.number(),
  offset: z.number(),
  counts: z.array(z.number()).max(MAX_BUCKETS),
});
export type Histogram = z.infer<typeof histogram>;

/** Bounds of the explicit buckets, seconds: those that OpenTelemetry advises for durations of HTTP. */
export const EXPLICIT_BOUNDS = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
] as const;

export type HistogramKind = 'exponential' | 'explicit';

export function emptyHistogram(kind: HistogramKind): Histogram {
  const isExplicit = kind === 'explicit';
  return {
    count: 0,
    sumNs: 0,
    scale: isExplicit ? null : FINEST_SCALE,
    zero: 0,
    offset: 0,
    counts: isExplicit ? Array<number>(EXPLICIT_BOUNDS.length + 1).fill(0) : [],
  };
}

/** @param ms >= 0 */
export function countDuration(into: Histogram, ms: number): void {
  const ns = Math.round(ms * NS_PER_MS);
  into.count += 1;
  into.sumNs += ns;
  if (into.scale === null) countInBucket(into, explicitBucket(ns / NS_PER_S));
  else if (ns === 0) into.zero += 1;
  else countExponential(into, into.scale, ns / NS_PER_S);
}

export function secondsOf({ sumNs }: Histogram): number {
  return sumNs / NS_PER_S;
}

function countExponential(into: Histogram, scale: number, seconds: number): void {
  // A value on a bound belongs to the bucket below it, as far as logarithms are exact.
  const index = Math.ceil(Math.log2(seconds) * 2 ** scale) - 1;
  const { counts } = into;
  if (counts.length === 0) into.offset = index;
  const first = Math.min(into.offset, index);
  const end = Math.max(into.offset + counts.length, index + 1);
  if (end - first > MAX_BUCKETS) {
    countExponential(into, coarsen(into, scale), seconds);
    return;
  }
  for (; into.offset > first; into.offset -= 1) counts.unshift(0);
  while (into.offset + counts.length < end) counts.push(0);
  countInBucket(into, index - first);
}

function countInBucket({ counts }: Histogram, bucket: number): void {
  counts[bucket] = (counts[bucket] ?? 0) + 1;
}

/**
 * Joins each two neighbouring buckets: half as many per doubling.
 *
 * @returns the new scale
 */
function coarsen(into: Histogram, scale: number): number {
  const { offset, counts } = into;
  into.offset = offset >> 1;
  into.counts = [];
  counts.forEach((count, place) => {
    const joined = ((offset + place) >> 1) - into.offset;
    into.counts[joined] = (into.counts[joined] ?? 0) + count;
  });
  into.scale = scale - 1;
  return into.scale;
}

function explicitBucket(seconds: number): number {
  let bucket = 0;
  while (bucket < EXPLICIT_BOUNDS.length && seconds > (EXPLICIT_BOUNDS[bucket] as number)) bucket += 1;
  return bucket;
}
