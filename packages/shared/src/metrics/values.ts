import type { Instrument, Instruments } from './instrument.ts';

/**
 * The value of an instrument: a number, a number for each value of its label, a series, or a distribution.
 */
type ValueOf<I extends Instrument> =
  I extends Instrument<infer V, infer K, infer N>
    ? K extends 'histogram'
      ? Distribution
      : [N] extends [never]
        ? [V] extends [never]
          ? number
          : { [Each in V]: number }
        : Series<N>
    : never;

/** The values of all given instruments. A missing value fails the type check. */
export type ValuesOf<I extends Instruments> = { [Name in keyof I]: ValueOf<I[Name]> };

/**
 * Creates zeros for counters and histograms. Code counts in place: `totals.attempts += 1`,
 * `totals.results[outcome] += 1`. The counts are plain numbers, because every check changes some of them.
 */
export function createTotals<I extends Instruments>(instruments: I): ValuesOf<I> {
  const entries = Object.entries(instruments).map(([name, instrument]) => [name, zero(instrument)]);
  return Object.fromEntries(entries) as ValuesOf<I>;
}

function zero({
  kind,
  label,
  openLabels,
  bounds,
}: Instrument): number | Record<string, number> | Distribution | Series {
  if (kind === 'histogram') return new Distribution(bounds);
  if (openLabels !== null) return new Series(Object.keys(openLabels));
  if (label === null) return 0;
  return Object.fromEntries(Object.keys(label.values).map((value) => [value, 0]));
}

/**
 * The values of a gauge with open labels at one moment.
 *
 * @param entries combinations of labels, each with its value; the last value of a combination counts
 */
export function seriesOf<V extends string, N extends string>(
  { openLabels }: Instrument<V, 'gauge', N>,
  entries: Iterable<readonly [labels: Readonly<Record<N, string>>, value: number]>,
): Series<N> {
  const series = new Series(Object.keys(openLabels ?? {}) as N[]);
  for (const [labels, value] of entries) series.set(labels, value);
  return series;
}

/**
 * The values of an instrument with open labels: a number for each combination of label values that occurred.
 * The counting code bounds the number of combinations, as the declaration of the instrument says.
 *
 * @typeParam N the names of the labels
 */
export class Series<N extends string = string> {
  readonly #points = new Map<string, { readonly labels: Readonly<Record<N, string>>; value: number }>();
  readonly #names: readonly N[];

  /** @param names the names of the labels, in the order of the declaration */
  constructor(names: readonly N[]) {
    this.#names = names;
  }

  /** Adds `by` to the value of a time series. A new time series begins at 0. */
  add(labels: Readonly<Record<N, string>>, by = 1): void {
    this.#point(labels).value += by;
  }

  set(labels: Readonly<Record<N, string>>, value: number): void {
    this.#point(labels).value = value;
  }

  /** A copy of the values, in the order in which the time series appeared. */
  points(): { readonly labels: Readonly<Record<string, string>>; readonly value: number }[] {
    return [...this.#points.values()].map(({ labels, value }) => ({
      labels: Object.fromEntries(this.#names.map((name) => [name, labels[name]])),
      value,
    }));
  }

  #point(labels: Readonly<Record<N, string>>): { value: number } {
    // No label value contains a line feed, so two combinations never share a key.
    const key = this.#names.map((name) => labels[name]).join('\n');
    const known = this.#points.get(key);
    if (known !== undefined) return known;
    const point = { labels: { ...labels }, value: 0 };
    this.#points.set(key, point);
    return point;
  }
}

/** The recorded values of a histogram. */
export type DistributionValues = {
  /** Upper bounds of the buckets, ascending. */
  readonly bounds: readonly number[];
  /**
   * Number of values in each bucket, not cumulative. There is one more bucket than `bounds`: the last bucket
   * counts the values above all bounds.
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

/** One time series with its value at the moment of the measurement. */
export type Point = {
  /** The value of each label, by the label's name. Empty when the instrument has no label. */
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | DistributionValues;
  /**
   * When the time series began to count from 0, epoch ms. Points of one instrument
   * may differ in it: each shard counts from the start of its own leadership. It has
   * no meaning for a gauge.
   */
  readonly startedAt: number;
};

/** The values of an instrument at one moment. Every export is made from such measurements. */
export type Measurement = {
  readonly instrument: Instrument;
  readonly points: readonly Point[];
};

/**
 * Takes the values of the instruments at this moment. Later counting does not change the result. A value that
 * is not known now, NaN, gives no point: it would make every sum over several processes NaN.
 *
 * @param startedAt when the counting began, epoch ms
 */
export function measurementsOf<I extends Instruments>(
  instruments: I,
  values: ValuesOf<I>,
  startedAt: number,
): Measurement[] {
  return Object.entries(instruments).map(([name, instrument]) => ({
    instrument,
    points: pointsOf(instrument, values[name as keyof I])
      .filter(({ value }) => !Number.isNaN(value))
      .map((point) => ({ ...point, startedAt })),
  }));
}

function pointsOf({ label }: Instrument, value: unknown): Omit<Point, 'startedAt'>[] {
  if (value instanceof Distribution) {
    const { bounds, counts, sum, count } = value;
    return [{ labels: {}, value: { bounds, counts: [...counts], sum, count } }];
  }
  if (value instanceof Series) return value.points();
  if (label === null) return [{ labels: {}, value: value as number }];
  // The points are in the order of the declaration, whatever the order of the values is.
  return Object.keys(label.values).map((each) => ({
    labels: { [label.name]: each },
    value: (value as Record<string, number>)[each] as number,
  }));
}
