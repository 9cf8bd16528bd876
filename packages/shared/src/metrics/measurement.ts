import { Distribution, type DistributionValues } from './distribution.ts';
import type { Instrument, Instruments } from './instrument.ts';
import { Series } from './series.ts';
import type { ValuesOf } from './totals.ts';

/** One time series. */
export type Point = {
  /** Empty where the instrument has no label. */
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | DistributionValues;
};

/** The values of an instrument at one moment. Every export is given these. */
export type Measurement = {
  readonly instrument: Instrument;
  /** When its counting began at 0, epoch ms; without meaning for a gauge. */
  readonly startedAt: number;
  readonly points: readonly Point[];
};

/**
 * Takes the values of the instruments at this moment. Later counting does not change the result.
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
    startedAt,
    points: pointsOf(instrument, values[name as keyof I]),
  }));
}

function pointsOf({ label }: Instrument, value: unknown): Point[] {
  if (value instanceof Distribution) {
    const { bounds, counts, sum, count } = value;
    return [{ labels: {}, value: { bounds, counts: [...counts], sum, count } }];
  }
  if (value instanceof Series) return value.points();
  if (label === null) return [{ labels: {}, value: value as number }];
  // The order is that of the declaration, whatever the order of the values is.
  return Object.keys(label.values).map((each) => ({
    labels: { [label.name]: each },
    value: (value as Record<string, number>)[each] as number,
  }));
}
