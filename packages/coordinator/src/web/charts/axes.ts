/**
 * Columns of a time axis. `from`: beginning of the first column, epoch ms. `bucketMs`: width of a column, ms.
 */
export type TimeColumns = { readonly from: number; readonly bucketMs: number; readonly count: number };

/** Maximum number of intervals between labels for which a narrow screen has room. */
const MOST_INTERVALS = 7;

/** Evenly spaced instants at edges of columns, from the beginning of the axis to its end. */
export function timeTicks({ from, bucketMs, count }: TimeColumns): number[] {
  const intervals = largestDivisor(count, MOST_INTERVALS);
  const width = (count * bucketMs) / intervals;
  return Array.from({ length: intervals + 1 }, (_, index) => from + index * width);
}

/** @param count integer, > 0 */
function largestDivisor(count: number, most: number): number {
  for (let divisor = Math.min(count, most); divisor > 1; divisor -= 1) {
    if (count % divisor === 0) return divisor;
  }
  return 1;
}

/** An axis of values that begins at 0. */
export type ValueAxis = {
  /** Value at the upper edge, > 0. */
  readonly top: number;
  /** Values of the evenly spaced lines: `top` first, 0 last. */
  readonly ticks: readonly number[];
};

/** Distances between lines that people read easily, as multiples of a power of ten. */
const STEPS = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
const INTERVALS = 4;

/**
 * The smallest axis for values up to `greatest` whose lines are round values with at most one decimal. If
 * `greatest` is at least 4, `top` is less than 1.6 times `greatest`.
 *
 * @param greatest at least 0; 0 gives an axis up to 4, so that an empty chart has lines too
 */
export function valueAxis(greatest: number): ValueAxis {
  const step = greatest > 0 ? stepFor(greatest / INTERVALS) : 1;
  const ticks = Array.from({ length: INTERVALS + 1 }, (_, index) => rounded((INTERVALS - index) * step));
  return { top: rounded(INTERVALS * step), ticks };
}

/**
 * The smallest step of {@link STEPS} times a power of ten that is at least `least` and a multiple of a tenth.
 */
function stepFor(least: number): number {
  const unit = Math.max(0.1, 10 ** Math.floor(Math.log10(least)));
  const isTenths = (step: number) => Math.abs(step * 10 - Math.round(step * 10)) < 1e-9;
  // The tolerance of a millionth accepts a step that is too small only by the rounding of the division.
  const found = STEPS.find((factor) => isTenths(factor * unit) && factor * unit >= least * (1 - 1e-6));
  return (found ?? 10) * unit;
}

/** Removes the last digits, which are errors of binary arithmetic. */
function rounded(value: number): number {
  return Number(value.toPrecision(9));
}
