/** What a histogram has recorded. */
export type DistributionValues = {
  /** Upper bounds of the buckets, ascending. */
  readonly bounds: readonly number[];
  /** Values in each bucket, not added up; one more than `bounds`: the last holds what is above all of them. */
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
};

/** The values of a histogram since it was made: a number for each bucket, whatever is recorded. */
export class Distribution implements DistributionValues {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;
  count = 0;

  /** @param bounds ascending */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  /** A value equal to a bound belongs to that bucket, as in Prometheus. */
  record(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > (this.bounds[bucket] as number)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] as number) + 1;
    this.sum += value;
    this.count += 1;
  }
}
