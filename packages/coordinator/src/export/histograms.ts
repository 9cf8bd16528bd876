import { z } from 'zod';
import { BucketBlocks } from './bucket-blocks.ts';
import { withRoom } from './columns.ts';

/** Buckets per doubling are 2 to the power of it: 8, so a value is known within 4.4 %, as roll-ups know it within 5. */
const FINEST_SCALE = 3;
const FINEST_FACTOR = 2 ** FINEST_SCALE;
/** As OpenTelemetry's SDKs have it: 20 doublings at the finest scale, from 0.1 ms to over 100 s. */
const MAX_BUCKETS = 160;
const FIRST_ROOM = 64;
/** Durations are kept in ns: sums of whole numbers are exact, and quick to write. */
export const NS_PER_S = 1e9;

/** What a histogram has of the values recorded since its start, as it is stored. */
export const histogramData = z.object({
  count: z.number(),
  /** Seconds. */
  sum: z.number(),
  /** Exponential: see {@link Histograms}. Null: explicit. */
  scale: z.number().nullable(),
  zero: z.number(),
  offset: z.number(),
  counts: z.array(z.number()),
});
export type HistogramData = z.infer<typeof histogramData>;

/** Bounds of the explicit buckets, seconds: those that OpenTelemetry advises for durations of HTTP. */
export const EXPLICIT_BOUNDS = [
  0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
] as const;

export type HistogramKind = 'exponential' | 'explicit';

/**
 * All histograms of durations that are exported, as columns: a number per histogram in each. A histogram is known by its
 * place in them. Exponential: bucket i holds the values over base^(offset + i), up to base^(offset + i + 1), where base
 * is 2^(2^-scale) (OpenTelemetry's data model, "ExponentialHistogram"). Explicit: buckets by {@link EXPLICIT_BOUNDS}, the
 * last holds what is above them.
 */
export class Histograms {
  readonly kind: HistogramKind;
  /** Values recorded. */
  counts = new Float64Array(FIRST_ROOM);
  /** Of the values, ns. The smallest and the largest of all time say little: nobody exports them. */
  sums = new Float64Array(FIRST_ROOM);
  /** Values of 0; exponential histograms only, as scales and offsets. */
  zeros = new Float64Array(FIRST_ROOM);
  scales = new Int8Array(FIRST_ROOM);
  offsets = new Int32Array(FIRST_ROOM);
  /** Number of buckets in use, from `starts` on in `blocks.buckets`. */
  lengths = new Uint8Array(FIRST_ROOM);
  starts = new Uint32Array(FIRST_ROOM);
  readonly blocks = new BucketBlocks(MAX_BUCKETS);
  readonly #unused: number[] = [];
  #size = 0;

  constructor(kind: HistogramKind) {
    this.kind = kind;
  }

  /** Places are below it. */
  get size(): number {
    return this.#size;
  }

  /** @returns the place of an empty histogram */
  add(): number {
    const at = this.#unused.pop() ?? this.#nextPlace();
    this.counts[at] = 0;
    this.sums[at] = 0;
    this.zeros[at] = 0;
    this.scales[at] = FINEST_SCALE;
    this.offsets[at] = 0;
    this.lengths[at] = 0;
    if (this.kind === 'explicit') this.#widen(at, 0, EXPLICIT_BOUNDS.length + 1);
    return at;
  }

  /** @param data of the same kind, as it was stored */
  restore(data: HistogramData): number {
    const at = this.add();
    this.counts[at] = data.count;
    this.sums[at] = Math.round(data.sum * NS_PER_S);
    this.zeros[at] = data.zero;
    this.scales[at] = data.scale ?? 0;
    if (this.kind === 'exponential') {
      this.offsets[at] = data.offset;
      this.#widen(at, data.offset, Math.min(MAX_BUCKETS, data.counts.length));
    }
    this.blocks.buckets.set(data.counts.slice(0, this.#lengthOf(at)), this.#startOf(at));
    return at;
  }

  /** The place may be another histogram's from now on. */
  remove(at: number): void {
    this.blocks.free(this.#startOf(at), this.#lengthOf(at));
    this.lengths[at] = 0;
    this.#unused.push(at);
  }

  /** @param ns >= 0, whole */
  record(at: number, ns: number): void {
    this.counts[at] = (this.counts[at] as number) + 1;
    this.sums[at] = (this.sums[at] as number) + ns;
    if (this.kind === 'explicit') this.#count(at, explicitBucket(ns / NS_PER_S));
    else if (ns === 0) this.zeros[at] = (this.zeros[at] as number) + 1;
    else this.#recordExponential(at, ns / NS_PER_S);
  }

  /** As it is stored. */
  data(at: number): HistogramData {
    const start = this.#startOf(at);
    return {
      count: this.counts[at] as number,
      sum: (this.sums[at] as number) / NS_PER_S,
      scale: this.kind === 'exponential' ? (this.scales[at] as number) : null,
      zero: this.zeros[at] as number,
      offset: this.offsets[at] as number,
      counts: [...this.blocks.buckets.subarray(start, start + this.#lengthOf(at))],
    };
  }

  #recordExponential(at: number, seconds: number): void {
    let index = exponentialBucket(seconds, this.scales[at] as number);
    if (this.#lengthOf(at) === 0) this.offsets[at] = index;
    for (;;) {
      const offset = this.offsets[at] as number;
      const end = offset + this.#lengthOf(at);
      const first = Math.min(offset, index);
      const length = Math.max(end, index + 1) - first;
      if (length <= MAX_BUCKETS) {
        if (length > end - offset) this.#widen(at, first, length);
        this.#count(at, index - first);
        return;
      }
      this.#coarsen(at);
      index >>= 1;
    }
  }

  #count(at: number, bucket: number): void {
    const { buckets } = this.blocks;
    const place = this.#startOf(at) + bucket;
    buckets[place] = (buckets[place] as number) + 1;
  }

  /** Buckets from `first` on, which is at most what it was; those that are new are empty. */
  #widen(at: number, first: number, length: number): void {
    const before = (this.offsets[at] as number) - first;
    this.starts[at] = this.blocks.widened(this.#startOf(at), this.#lengthOf(at), { before, length });
    this.offsets[at] = first;
    this.lengths[at] = length;
  }

  /** Joins each two neighbouring buckets: half as many per doubling. */
  #coarsen(at: number): void {
    const { buckets } = this.blocks;
    const offset = this.offsets[at] as number;
    const start = this.#startOf(at);
    const length = this.#lengthOf(at);
    const first = offset >> 1;
    for (let place = 0; place < length; place += 1) {
      const count = buckets[start + place] as number;
      const joined = start + ((offset + place) >> 1) - first;
      // Never after the bucket itself, so that none is overwritten before it is read.
      buckets[start + place] = 0;
      buckets[joined] = (buckets[joined] as number) + count;
    }
    this.scales[at] = (this.scales[at] as number) - 1;
    this.offsets[at] = first;
    this.#shorten(at, ((offset + length - 1) >> 1) - first + 1);
  }

  #shorten(at: number, length: number): void {
    this.starts[at] = this.blocks.shortened(this.#startOf(at), this.#lengthOf(at), length);
    this.lengths[at] = length;
  }

  #startOf(at: number): number {
    return this.starts[at] as number;
  }

  #lengthOf(at: number): number {
    return this.lengths[at] as number;
  }

  #nextPlace(): number {
    const at = this.#size;
    this.#size += 1;
    this.counts = withRoom(this.counts, this.#size);
    this.sums = withRoom(this.sums, this.#size);
    this.zeros = withRoom(this.zeros, this.#size);
    this.scales = withRoom(this.scales, this.#size);
    this.offsets = withRoom(this.offsets, this.#size);
    this.lengths = withRoom(this.lengths, this.#size);
    this.starts = withRoom(this.starts, this.#size);
    return at;
  }
}

/** Of a value over 0. A value on a bound belongs to the bucket below it, as far as logarithms are exact. */
function exponentialBucket(seconds: number, scale: number): number {
  return Math.ceil(Math.log2(seconds) * (scale === FINEST_SCALE ? FINEST_FACTOR : 2 ** scale)) - 1;
}

function explicitBucket(seconds: number): number {
  let bucket = 0;
  while (bucket < EXPLICIT_BOUNDS.length && seconds > (EXPLICIT_BOUNDS[bucket] as number)) bucket += 1;
  return bucket;
}
