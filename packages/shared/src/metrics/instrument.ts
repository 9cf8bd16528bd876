/** Kinds of instrument. A histogram shows the distribution of measured values. */
export type InstrumentKind = 'counter' | 'gauge' | 'histogram';

/** Base units of Prometheus. An instrument without a unit counts objects or events, which its name says. */
export type Unit = 'seconds' | 'bytes';

/**
 * The label of an instrument whose values are a closed set, which bounds the number of time series. An
 * instrument has one such label at most. Each time series exists from the start.
 */
export type Label<V extends string = string> = {
  readonly name: string;
  /** Meaning of each value, as a sentence. */
  readonly values: Readonly<Record<V, string>>;
};

/**
 * Labels whose values are not a closed set. Each name has a description of its values, which says what bounds
 * their number where that is not plain. A time series appears with its first value.
 */
export type OpenLabels<N extends string = string> = Readonly<Record<N, string>>;

/**
 * One instrument of svc, declared once. `/metrics`, the reference page and every export read this
 * declaration.
 *
 * @typeParam V values of the label; `never` if the instrument has no label
 * @typeParam K kind of the instrument
 * @typeParam N names of the open labels; `never` if the instrument has none
 */
export type Instrument<
  V extends string = string,
  K extends InstrumentKind = InstrumentKind,
  N extends string = string,
> = {
  /**
   * Name in the style of Prometheus: `svc_…` or `process_…` with the unit last, followed by `_total` for a
   * counter.
   */
  readonly name: string;
  readonly kind: K;
  readonly unit: Unit | null;
  readonly label: Label<V> | null;
  /** The labels whose values are not a closed set; null: the instrument has no such label. */
  readonly openLabels: OpenLabels<N> | null;
  /** A sentence about what the instrument counts or measures. */
  readonly description: string;
  /**
   * When the operator should act on the value, and what to do then. Null: the
   * value is no reason for an alarm.
   */
  readonly advice: string | null;
  /** Upper bounds of a histogram's buckets in its unit, ascending; empty for other kinds. */
  readonly bounds: readonly number[];
};

/** Instruments by their names in the code. */
export type Instruments = Readonly<Record<string, Instrument>>;

/** The values of an instrument's label. */
export type LabelValue<I extends Instrument> = I extends Instrument<infer V> ? V : never;

type More<V extends string, N extends string> = {
  readonly unit?: Unit;
  readonly label?: Label<V>;
  readonly openLabels?: OpenLabels<N>;
  readonly advice?: string;
};

/** Declares a counter: a value that starts at 0 when its part starts and only grows. */
export function counter<V extends string = never, N extends string = never>(
  name: `${'svc' | 'process'}_${string}_total`,
  description: string,
  more: More<V, N> = {},
): Instrument<V, 'counter', N> {
  return { ...instrument(name, description, more), kind: 'counter' };
}

/** Declares a gauge: a present value, which may rise and fall. */
export function gauge<V extends string = never, N extends string = never>(
  name: `${'svc' | 'process'}_${string}`,
  description: string,
  more: More<V, N> = {},
): Instrument<V, 'gauge', N> {
  return { ...instrument(name, description, more), kind: 'gauge' };
}

/**
 * Declares a histogram.
 *
 * @param bounds upper bounds of the buckets in `unit`, ascending; values above the last bound are counted too
 */
export function histogram(
  name: `svc_${string}`,
  description: string,
  {
    bounds,
    ...more
  }: Pick<More<never, never>, 'advice'> & { readonly unit: Unit; readonly bounds: readonly number[] },
): Instrument<never, 'histogram', never> {
  return { ...instrument<never, never>(name, description, more), kind: 'histogram', bounds };
}

function instrument<V extends string, N extends string>(
  name: string,
  description: string,
  { unit, label, openLabels, advice }: More<V, N>,
): Omit<Instrument<V, InstrumentKind, N>, 'kind'> {
  return {
    name,
    unit: unit ?? null,
    label: label ?? null,
    openLabels: openLabels ?? null,
    description,
    advice: advice ?? null,
    bounds: [],
  };
}
