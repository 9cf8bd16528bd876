/** The recorded values of a histogram. */
export type DistributionValues = {
  /** Upper bounds of the buckets, ascending. */
  readonly bounds: readonly number[];
  /**
   * Number of values in each bucket, not cumulative. There is one more bucket than `bounds`: the last one
   * holds the values above all bounds.
   */
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
};

/**
 * The values of a histogram since it was created. It keeps one number for each bucket, however many values
 * are recorded.
 */
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

  /** Records a value. A value equal to a bound belongs to that bound's bucket, as in Prometheus. */
  record(value: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && value > (this.bounds[bucket] as number)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] as number) + 1;
    this.sum += value;
    this.count += 1;
  }
}
