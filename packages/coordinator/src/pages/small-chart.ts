/*
 * Lines that are as small as a word, in px: each value is 9 px right of the one before, value 0 is at height 23, and the
 * highest at 1. Points are relative to the ones before, which is half as long as absolute ones.
 */
const STEP = 9;
const BOTTOM = 23;
const HEIGHT = 22;

/** Null: there is no value. */
type Values = readonly (number | null)[];

/**
 * A line through the values, with a gap where there is none. A value between two gaps is a dot: a line without a length,
 * which the round ends of its stroke make visible.
 *
 * @param top the highest value, > 0
 */
export function linePath(values: Values, top: number): string {
  return runsOf(values, top)
    .map(({ x, heights }) => `M${x} ${heights[0] ?? 0}${heights.length === 1 ? 'h0' : steps(heights)}`)
    .join('');
}

/** The heights of values without a gap between them. */
function runsOf(values: Values, top: number): { x: number; heights: number[] }[] {
  const runs: { x: number; heights: number[] }[] = [];
  values.forEach((value, index) => {
    if (value === null) return;
    const height = BOTTOM - Math.round((Math.min(value, top) / top) * HEIGHT);
    const isFirst = (values[index - 1] ?? null) === null;
    if (isFirst) runs.push({ x: index * STEP, heights: [height] });
    else runs.at(-1)?.heights.push(height);
  });
  return runs;
}

function steps(heights: readonly number[]): string {
  const moves = heights.slice(1).map((height, index) => {
    const change = height - (heights[index] ?? 0);
    return `${STEP}${change < 0 ? '' : ' '}${change}`;
  });
  return `l${moves.join(' ')}`;
}
