import { z } from 'zod';

/** Buckets per doubling are 2 to the power of it: 8, so a value is known within 4.4 %, as roll-ups know it within 5. */
const FINEST_SCALE = 3;
const FINEST_FACTOR = 2 ** FINEST_SCALE;
/** As OpenTelemetry's SDKs have it: 20 doublings at the finest scale, from 0.1 ms to over 100 s. */
const MAX_BUCKETS = 160;

/** What a histogram has of the values recorded since its start, as it is stored. */
export const histogramData = z.object({
  count: z.number(),
  /** Seconds, as `min` and `max`, which are null while nothing is recorded. */
  sum: z.number(),
  min: z.number().nullable(),
  max: z.number().nullable(),
  /** Exponential: see {@link DurationHistogram}. Null: explicit. */
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
 * Durations since a start. Exponential: bucket i of `counts` holds the values over base^(offset + i), up to
 * base^(offset + i + 1), where base is 2^(2^-scale) (OpenTelemetry's data model, "ExponentialHistogram").
 * Explicit: buckets by {@link EXPLICIT_BOUNDS}, the last holds what is above them.
 */
export class DurationHistogram {
  readonly data: HistogramData;

  private constructor(data: HistogramData) {
    this.data = data;
  }

  static empty(kind: HistogramKind): DurationHistogram {
    const isExponential = kind === 'exponential';
    return new DurationHistogram({
      count: 0,
      sum: 0,
      min: null,
      max: null,
      scale: isExponential ? FINEST_SCALE : null,
      zero: 0,
      offset: 0,
      counts: isExponential ? [] : new Array<number>(EXPLICIT_BOUNDS.length + 1).fill(0),
    });
  }

  /** @param data as it was stored */
  static of(data: HistogramData): DurationHistogram {
    return new DurationHistogram(data);
  }

  /** @param seconds >= 0, finite */
  record(seconds: number): void {
    const { data } = this;
    data.count += 1;
    data.sum += seconds;
    if (data.min === null || seconds < data.min) data.min = seconds;
    if (data.max === null || seconds > data.max) data.max = seconds;
    if (data.scale === null) recordExplicit(data.counts, seconds);
    else if (seconds === 0) data.zero += 1;
    else this.#recordExponential(seconds);
  }

  #recordExponential(seconds: number): void {
    const { data } = this;
    let index = indexOf(seconds, data.scale as number);
    if (data.counts.length === 0) data.offset = index;
    for (;;) {
      const first = Math.min(data.offset, index);
      const last = Math.max(data.offset + data.counts.length - 1, index);
      if (last - first < MAX_BUCKETS) break;
      this.#coarsen();
      index >>= 1;
    }
    while (index < data.offset) {
      data.counts.unshift(0);
      data.offset -= 1;
    }
    const place = index - data.offset;
    while (data.counts.length <= place) data.counts.push(0);
    data.counts[place] = (data.counts[place] as number) + 1;
  }

  /** Joins each two neighbouring buckets: half as many per doubling. */
  #coarsen(): void {
    const { data } = this;
    const first = data.offset >> 1;
    const last = (data.offset + data.counts.length - 1) >> 1;
    const joined = new Array<number>(last - first + 1).fill(0);
    data.counts.forEach((count, place) => {
      const bucket = ((data.offset + place) >> 1) - first;
      joined[bucket] = (joined[bucket] as number) + count;
    });
    data.scale = (data.scale as number) - 1;
    data.offset = first;
    data.counts = joined;
  }
}

/** Of the bucket of a value over 0. A value on a bound belongs to the bucket below it, as far as logarithms are exact. */
function indexOf(value: number, scale: number): number {
  return Math.ceil(Math.log2(value) * (scale === FINEST_SCALE ? FINEST_FACTOR : 2 ** scale)) - 1;
}

function recordExplicit(counts: number[], seconds: number): void {
  let bucket = 0;
  while (bucket < EXPLICIT_BOUNDS.length && seconds > (EXPLICIT_BOUNDS[bucket] as number)) bucket += 1;
  counts[bucket] = (counts[bucket] as number) + 1;
}
