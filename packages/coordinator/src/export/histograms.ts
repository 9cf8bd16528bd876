import { z } from 'zod';

/**
 * The finest scale has 2^3 = 8 buckets for each doubling, so a value is known within 4.4 %. In roll-ups a
 * value is known within 5 %.
 */
const FINEST_SCALE = 3;
/**
 * Maximum number of buckets, as in OpenTelemetry's SDKs. At the finest scale the buckets cover 20 doublings,
 * from 0.1 ms to over 100 s.
 */
const MAX_BUCKETS = 160;
const NS_PER_MS = 1e6;
const NS_PER_S = 1e9;

/**
 * A histogram of durations. Exponential: bucket i counts values above base^(offset + i) and up to
 * base^(offset + i + 1). The base is 2^(2^-scale) (OpenTelemetry's data model, "ExponentialHistogram").
 * Explicit: the buckets have {@link EXPLICIT_BOUNDS}, and the last bucket counts values above all bounds.
 */
export const histogram = z.object({
  count: z.number(),
  /** Sum of the values, ns. Whole numbers keep the sum exact up to 2^53 ns (104 days). */
  sumNs: z.number(),
  /** Scale of the exponential buckets; null: the buckets are explicit. */
  scale: z.number().nullable(),
  /** Number of values that are 0. Only exponential histograms use `zero` and `offset`. */
  zero: z.number(),
  offset: z.number(),
  counts: z.array(z.number()).max(MAX_BUCKETS),
});
export type Histogram = z.infer<typeof histogram>;

/** Bounds of the explicit buckets, seconds. OpenTelemetry recommends them for HTTP durations. */
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
  // A value on a bound belongs to the bucket below the bound, as far as the logarithm is exact.
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
 * Joins neighbouring buckets in pairs. Each range from a value to its double then has half as many buckets.
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
