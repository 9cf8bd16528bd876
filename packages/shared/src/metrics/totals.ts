import { Distribution } from './distribution.ts';
import type { Instrument, Instruments } from './instrument.ts';

/** The value of an instrument: a number, a number for each value of its label, or a distribution. */
export type ValueOf<I extends Instrument> =
  I extends Instrument<infer V, infer K>
    ? K extends 'histogram'
      ? Distribution
      : [V] extends [never]
        ? number
        : { [Each in V]: number }
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

function zero({ kind, label, bounds }: Instrument): number | Record<string, number> | Distribution {
  if (kind === 'histogram') return new Distribution(bounds);
  if (label === null) return 0;
  return Object.fromEntries(Object.keys(label.values).map((value) => [value, 0]));
}
