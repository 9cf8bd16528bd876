import { type Html, html } from '../html.ts';
import { valueAxis } from './axes.ts';
import { type Chart, drawn, keyEntry, renderChart } from './chart.ts';
import { barsPath, linePath, PLOT } from './paths.ts';

/** The styles of lines. They differ by dashes and widths, so no colour is needed. */
export type LineStyle = 'solid' | 'dashed' | 'dotted';

export type Line = {
  readonly name: string;
  readonly style: LineStyle;
  /** The value over the whole range, as text. */
  readonly whole: string;
  /** A value for each column; null: the column has no value. */
  readonly values: readonly (number | null)[];
};

/** A strip below the plot. Each column with a share above 0 has a bar, whose height shows the share. */
export type Strip = {
  readonly name: string;
  /** The value over the whole range, as text. */
  readonly whole: string;
  /** The share of each column, 0 to 1. */
  readonly shares: readonly number[];
  /** For each column of the chart, the text that the table of figures shows. */
  readonly texts: readonly string[];
};

export type LineChart = Pick<Chart, 'title' | 'note' | 'summary' | 'columns' | 'valueText'> & {
  readonly lines: readonly Line[];
  readonly strip: Strip;
};

/** Lines over time, with a strip below them. */
export function renderLineChart({ lines, strip, ...chart }: LineChart): Html {
  const axis = valueAxis(Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))));
  // The lines are drawn in reverse order, so that the first and most important one lies on top.
  const drawing = lines
    .toReversed()
    .map(({ style, values }) => drawn(`chart-line chart-${style}`, linePath(values, axis.top)));
  const bars = barsPath(
    strip.shares.map((share) => ({ low: 0, high: share })),
    1,
  );
  return renderChart({
    ...chart,
    axis,
    key: html`${lines.map(({ name, style, whole }) => keyEntry(lineSample(style), name, whole))}${keyEntry(STRIP_SAMPLE, strip.name, strip.whole)}`,
    drawing: html`${drawing}`,
    strip: html`<svg class="chart-strip" viewBox="0 0 ${PLOT.width} ${PLOT.height}" preserveAspectRatio="none" aria-hidden="true">${drawn('chart-failed', bars)}</svg>`,
    table: {
      titles: [...lines.map(({ name }) => name), strip.name],
      rows: strip.texts.map((text, index) => [
        ...lines.map(({ values }) => {
          const value = values[index] ?? null;
          return value === null ? '–' : chart.valueText(value);
        }),
        text,
      ]),
    },
  });
}

/**
 * A small line without axes, for a table row that also shows numbers.
 *
 * @param top value at the upper edge, > 0
 */
export function sparkline(values: readonly (number | null)[], top: number): Html {
  return html`<svg class="spark" viewBox="0 0 ${PLOT.width} ${PLOT.height}" preserveAspectRatio="none" aria-hidden="true">${drawn('chart-line chart-solid', linePath(values, top))}</svg>`;
}

function lineSample(style: LineStyle): Html {
  return html`<svg class="chart-sample" viewBox="0 0 28 10" aria-hidden="true"><path class="${`chart-line chart-${style}`}" d="M1 5H27"/></svg>`;
}

const STRIP_SAMPLE = html`<svg class="chart-sample" viewBox="0 0 28 10" aria-hidden="true"><path class="chart-failed" d="M10 10V2h8V10Z"/></svg>`;
