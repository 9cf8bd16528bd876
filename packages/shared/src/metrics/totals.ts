import { Distribution } from './distribution.ts';
import type { Instrument, Instruments } from './instrument.ts';
import { Series } from './series.ts';

/** The value of an instrument: a number, a number for each value of its label, a series, or a distribution. */
export type ValueOf<I extends Instrument> =
  I extends Instrument<infer V, infer K, infer N>
    ? K extends 'histogram'
      ? Distribution
      : [N] extends [never]
        ? [V] extends [never]
          ? number
          : { [Each in V]: number }
        : Series<N>
    : never;

/** The values of all given instruments. A forgotten one fails the type check. */
export type ValuesOf<I extends Instruments> = { [Name in keyof I]: ValueOf<I[Name]> };

/**
 * Creates zeros for counters and histograms. Code counts in place: `totals.attempts += 1`,
 * `totals.results[outcome] += 1`. They are plain numbers, because some lie on the path of every check.
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
 * @param entries labels with their value; of one combination the last counts
 */
export function seriesOf<V extends string, N extends string>(
  { openLabels }: Instrument<V, 'gauge', N>,
  entries: Iterable<readonly [labels: Readonly<Record<N, string>>, value: number]>,
): Series<N> {
  const series = new Series(Object.keys(openLabels ?? {}) as N[]);
  for (const [labels, value] of entries) series.set(labels, value);
  return series;
}
