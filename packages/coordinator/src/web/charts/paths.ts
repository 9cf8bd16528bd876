/**
 * Size of a plot in its own units. The plot is stretched to the available width. Each of `n` values has a
 * column that is `PLOT.width / n` wide. Value 0 is at the lower edge.
 */
export const PLOT = { width: 1_000, height: 240 } as const;

/**
 * SVG path data of a line through the middles of the columns. Null is a gap. A value between two gaps is
 * drawn as a line of length 0, which the line's round ends make visible as a dot.
 *
 * @param top value at the upper edge, > 0; higher values are drawn there
 */
export function linePath(values: readonly (number | null)[], top: number): string {
  const width = PLOT.width / Math.max(1, values.length);
  let path = '';
  values.forEach((value, index) => {
    if (value === null) return;
    const isFirst = (values[index - 1] ?? null) === null;
    const isLast = (values[index + 1] ?? null) === null;
    const point = `${units((index + 0.5) * width)} ${heightOf(value, top)}`;
    path += isFirst ? `M${point}` : `L${point}`;
    if (isFirst && isLast) path += 'h0';
  });
  return path;
}

/** A bar in a column, from `low` up to `high`; null: the column has no bar. */
export type Bar = { readonly low: number; readonly high: number } | null;

/**
 * SVG path data of bars that fill the width of their columns. Bars without a height are left out.
 *
 * @param top value at the upper edge, > 0; higher parts are cut off
 */
export function barsPath(bars: readonly Bar[], top: number): string {
  const width = PLOT.width / Math.max(1, bars.length);
  let path = '';
  bars.forEach((bar, index) => {
    if (bar === null) return;
    const [upper, lower] = [heightOf(bar.high, top), heightOf(bar.low, top)];
    if (upper === lower) return;
    path += `M${units(index * width)} ${lower}V${upper}H${units((index + 1) * width)}V${lower}Z`;
  });
  return path;
}

/**
 * Like {@link barsPath} with `top` 1, but neighbouring bars
 * that are the same object are one shape, without seams.
 */
export function stripPath(bars: readonly Bar[]): string {
  const width = PLOT.width / Math.max(1, bars.length);
  let path = '';
  for (let index = 0; index < bars.length; ) {
    const bar = bars[index] ?? null;
    let end = index + 1;
    while (end < bars.length && bars[end] === bar) end += 1;
    if (bar !== null) {
      const [upper, lower] = [heightOf(bar.high, 1), heightOf(bar.low, 1)];
      path += `M${units(index * width)} ${lower}V${upper}H${units(end * width)}V${lower}Z`;
    }
    index = end;
  }
  return path;
}

/** SVG path data of the upper edges of bars, as steps with a gap for each missing bar. */
export function edgesPath(bars: readonly Bar[], top: number): string {
  const width = PLOT.width / Math.max(1, bars.length);
  let path = '';
  bars.forEach((bar, index) => {
    if (bar === null) return;
    const upper = heightOf(bar.high, top);
    const isFirst = (bars[index - 1] ?? null) === null;
    path += `${isFirst ? `M${units(index * width)} ` : 'V'}${upper}H${units((index + 1) * width)}`;
  });
  return path;
}

/** SVG path data of horizontal lines across the whole plot at these values. */
export function rulesPath(values: readonly number[], top: number): string {
  return values.map((value) => `M0 ${heightOf(value, top)}H${PLOT.width}`).join('');
}

function heightOf(value: number, top: number): number {
  const share = Math.min(1, Math.max(0, value / top));
  return units((1 - share) * PLOT.height);
}

/** Rounds to one decimal. Screens do not show finer differences. */
function units(value: number): number {
  return Math.round(value * 10) / 10;
}
