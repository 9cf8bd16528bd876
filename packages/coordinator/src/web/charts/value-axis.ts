/** The axis of values, from 0 up. */
export type ValueAxis = {
  /** Value at the upper edge, > 0. */
  readonly top: number;
  /** Values of the lines, evenly apart: `top` first, 0 last. */
  readonly ticks: readonly number[];
};

/** Distances between lines that people read easily, in units of a power of ten. */
const STEPS = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
const INTERVALS = 4;

/**
 * The axis for values up to `greatest`: the smallest that has round lines, none of which needs a second decimal. From
 * 4 on it is less than 1.6 times as high as its greatest value.
 *
 * @param greatest at least 0; 0 gives an axis up to 4, so that an empty chart has lines too
 */
export function valueAxis(greatest: number): ValueAxis {
  const step = greatest > 0 ? stepFor(greatest / INTERVALS) : 1;
  const ticks = Array.from({ length: INTERVALS + 1 }, (_, index) => rounded((INTERVALS - index) * step));
  return { top: rounded(INTERVALS * step), ticks };
}

/** The smallest step of at least `least` that is a multiple of a tenth. */
function stepFor(least: number): number {
  const unit = Math.max(0.1, 10 ** Math.floor(Math.log10(least)));
  const isTenths = (step: number) => Math.abs(step * 10 - Math.round(step * 10)) < 1e-9;
  // A millionth less: a step that is equal but for the rounding of the division counts as high enough.
  const found = STEPS.find((factor) => isTenths(factor * unit) && factor * unit >= least * (1 - 1e-6));
  return (found ?? 10) * unit;
}

/** Without the last digits that binary numbers add to decimal ones. */
function rounded(value: number): number {
  return Number(value.toPrecision(9));
}
