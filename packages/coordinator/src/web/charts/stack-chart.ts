import { type Html, html, NO_HTML, raw } from '../html.ts';
import { valueAxis } from './axes.ts';
import { type Chart, drawn, keyEntry, renderChart } from './chart.ts';
import { type Bar, barsPath, edgesPath } from './paths.ts';

/** A part of each column of a stack. */
export type Layer = {
  readonly name: string;
  /**
   * The look of the layer: 1 the accent colour, 2 pale with vertical stripes, 3 the accent
   * colour, paler, 4 grey with horizontal stripes, 5 the colour of text.
   */
  readonly fill: 1 | 2 | 3 | 4 | 5;
  /** The value over the whole range, as text. */
  readonly whole: string;
  /** A value for each column, at least 0; null: the column is empty. */
  readonly values: readonly (number | null)[];
};

export type StackChart = Pick<Chart, 'title' | 'note' | 'summary' | 'columns' | 'valueText'> & {
  /** The layers, the lowest first. */
  readonly layers: readonly Layer[];
};

/**
 * A stack of layers over time. A page can have only one such chart, because the ids of the patterns must be
 * unique on the page.
 */
export function renderStackChart({ layers, ...chart }: StackChart): Html {
  const bars = stackOf(layers.map(({ values }) => values));
  const axis = valueAxis(Math.max(0, ...bars.flat().map((bar) => bar?.high ?? 0)));
  const textOf = (value: number | null) => (value === null ? '–' : chart.valueText(value));
  return renderChart({
    ...chart,
    axis,
    key: html`${layers.map(({ name, whole, fill }) => keyEntry(layerSample(fill), name, whole))}`,
    drawing: html`${PATTERNS}${layers.map(({ fill }, index) => layerPaths(fill, barsPath(bars[index] ?? [], axis.top)))}${bars.map((layer) => drawn('chart-edge', edgesPath(layer, axis.top)))}`,
    table: {
      titles: [...layers.map(({ name }) => name), 'Together'],
      rows: Array.from({ length: chart.columns.count }, (_, column) => [
        ...layers.map(({ values }) => textOf(values[column] ?? null)),
        textOf(bars.at(-1)?.[column]?.high ?? null),
      ]),
    },
  });
}

/**
 * The bars of each layer, each on top of the bars of the previous layer. A column in which one layer has null
 * is empty in all layers.
 */
export function stackOf(layers: readonly (readonly (number | null)[])[]): Bar[][] {
  const heights = (layers[0] ?? []).map(() => 0);
  const isFull = heights.map((_, column) => layers.every((values) => (values[column] ?? null) !== null));
  return layers.map((values) =>
    heights.map((low, column) => {
      if (isFull[column] !== true) return null;
      const high = low + (values[column] ?? 0);
      heights[column] = high;
      return { low, high };
    }),
  );
}

/** Patterns of stripes in units of the plot, which is stretched in width only. */
const PATTERNS = raw(
  '<defs><pattern id="stripes-upright" patternUnits="userSpaceOnUse" width="10" height="12"><path class="chart-stripe-upright" d="M1 0V12"/></pattern>' +
    '<pattern id="stripes-across" patternUnits="userSpaceOnUse" width="12" height="8"><path class="chart-stripe-across" d="M0 1H12"/></pattern></defs>',
);
const PATTERN_OF: { readonly [Fill in Layer['fill']]: string | null } = {
  1: null,
  2: 'stripes-upright',
  3: null,
  4: 'stripes-across',
  5: null,
};

/** The area of a layer, with its stripes over it. */
function layerPaths(fill: Layer['fill'], path: string): Html {
  const pattern = PATTERN_OF[fill];
  const stripes =
    pattern === null || path === '' ? NO_HTML : html`<path fill="url(#${pattern})" d="${raw(path)}"/>`;
  return html`${drawn(`chart-fill-${fill}`, path)}${stripes}`;
}

function layerSample(fill: Layer['fill']): Html {
  return html`<svg class="chart-sample" viewBox="0 0 28 10" aria-hidden="true">${layerPaths(fill, 'M1 0H27V10H1Z')}</svg>`;
}
