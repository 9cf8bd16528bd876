/**
 * Counts of latencies between fixed boundaries, so that histograms of hours, days
 * and regions can be added up. Each boundary is 10 % above the one before, so every
 * value from 0.1 ms to two hours is within 5 % of the middle of its bucket.
 */
export type LatencyHistogram = Uint32Array;

const GROWTH = 1.1;
/** Lowest boundary, ms, because agents report tenths of a millisecond. Smaller values are in bucket 0. */
const LOWEST_MS = 0.1;
/** Number of buckets. The last bucket begins at about two hours. */
const BUCKETS = 192;
const PER_LOG = 1 / Math.log(GROWTH);

export function emptyHistogram(): LatencyHistogram {
  return new Uint32Array(BUCKETS);
}

/** @param latency ms, >= 0 */
export function addLatency(histogram: LatencyHistogram, latency: number): void {
  const bucket = bucketOf(latency);
  histogram[bucket] = (histogram[bucket] ?? 0) + 1;
}

export function addHistogram(histogram: LatencyHistogram, other: LatencyHistogram): void {
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
    histogram[bucket] = (histogram[bucket] ?? 0) + (other[bucket] ?? 0);
  }
}

/**
 * The latency that this share of all values does not exceed (nearest rank), ms, within 5 %; null without
 * values.
 *
 * @param share 0 < share <= 1
 */
export function percentile(histogram: LatencyHistogram, share: number): number | null {
  // Plain loops, because a summary of 400 days computes two thousand percentiles.
  let total = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) total += histogram[bucket] ?? 0;
  if (total === 0) return null;
  const rank = Math.ceil(share * total);
  let bucket = 0;
  for (let passed = histogram[0] ?? 0; passed < rank; passed += histogram[bucket] ?? 0) bucket += 1;
  return middleOf(bucket);
}

/**
 * Encodes a histogram for storage: each bucket that is not empty, with its count in LEB128. Null when all
 * buckets are empty.
 */
export function encodeHistogram(histogram: LatencyHistogram): Uint8Array | null {
  const bytes: number[] = [];
  histogram.forEach((count, bucket) => {
    if (count === 0) return;
    bytes.push(bucket);
    let rest = count;
    for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
    bytes.push(rest);
  });
  return bytes.length === 0 ? null : Uint8Array.from(bytes);
}

/** Adds a histogram that {@link encodeHistogram} made, or several, one after the other. */
export function addEncoded(histogram: LatencyHistogram, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) {
    const bucket = bytes[at++] ?? 0;
    let count = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++] ?? 0;
      count |= (byte & 0x7f) << shift;
      if (byte <= 0x7f) break;
    }
    histogram[bucket] = (histogram[bucket] ?? 0) + (count >>> 0);
  }
}

function bucketOf(latency: number): number {
  if (!(latency >= LOWEST_MS)) return 0;
  return Math.min(1 + Math.floor(Math.log(latency / LOWEST_MS) * PER_LOG), BUCKETS - 1);
}

/** The geometric middle of a bucket, ms; 0 for bucket 0. */
function middleOf(bucket: number): number {
  return bucket === 0 ? 0 : LOWEST_MS * GROWTH ** (bucket - 0.5);
}
