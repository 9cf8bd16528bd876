/** What can be counted or measured. A histogram is a distribution of measured values. */
export type InstrumentKind = 'counter' | 'gauge' | 'histogram';

/** Base units of Prometheus. Null: a number of things, which the name says. */
export type Unit = 'seconds' | 'bytes';

/** The one label of an instrument. Its values are a closed set, so that the number of time series is bounded. */
export type Label<V extends string = string> = {
  readonly name: string;
  /** What each value means, as a sentence. */
  readonly values: Readonly<Record<V, string>>;
};

/**
 * One instrument of svc, declared once: `/metrics`, the reference page and every further way out of the
 * process are read from it.
 *
 * @typeParam V the values of its label; `never` without a label
 */
export type Instrument<V extends string = string, K extends InstrumentKind = InstrumentKind> = {
  /** As Prometheus has it: `svc_…`; the unit comes last, and `_total` after it where it is a counter. */
  readonly name: string;
  readonly kind: K;
  readonly unit: Unit | null;
  readonly label: Label<V> | null;
  /** What is counted or measured, as a sentence. */
  readonly description: string;
  /** When somebody should look at it, and what to do then. Null: it is no alarm. */
  readonly advice: string | null;
  /** Upper bounds of a histogram's buckets in its unit, ascending; empty for other kinds. */
  readonly bounds: readonly number[];
};

/** Instruments by the name that the code has for them. */
export type Instruments = Readonly<Record<string, Instrument>>;

/** Values of the label of an instrument. */
export type LabelValue<I extends Instrument> = I extends Instrument<infer V> ? V : never;

type More<V extends string> = {
  readonly unit?: Unit;
  readonly label?: Label<V>;
  readonly advice?: string;
};

/** Only grows, from nothing at the start of what counts. */
export function counter<V extends string = never>(
  name: `${'svc' | 'process'}_${string}_total`,
  description: string,
  more: More<V> = {},
): Instrument<V, 'counter'> {
  return { ...instrument(name, description, more), kind: 'counter' };
}

/** Is measured at the moment of reading. */
export function gauge<V extends string = never>(
  name: `${'svc' | 'process'}_${string}`,
  description: string,
  more: More<V> = {},
): Instrument<V, 'gauge'> {
  return { ...instrument(name, description, more), kind: 'gauge' };
}

/** @param bounds upper bounds of the buckets in `unit`, ascending; what is above the last one is counted too */
export function histogram(
  name: `svc_${string}`,
  description: string,
  {
    bounds,
    ...more
  }: Omit<More<never>, 'label'> & { readonly unit: Unit; readonly bounds: readonly number[] },
): Instrument<never, 'histogram'> {
  return { ...instrument<never>(name, description, more), kind: 'histogram', bounds };
}

function instrument<V extends string>(
  name: string,
  description: string,
  { unit, label, advice }: More<V>,
): Omit<Instrument<V>, 'kind'> {
  return {
    name,
    unit: unit ?? null,
    label: label ?? null,
    description,
    advice: advice ?? null,
    bounds: [],
  };
}
