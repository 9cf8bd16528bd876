import { type Asset, asset, textFile } from '../assets.ts';
import { type Html, html, NO_HTML, raw } from '../html.ts';
import { date, instant, timeOfDay } from '../times.ts';
import { type TimeColumns, timeTicks, type ValueAxis } from './axes.ts';
import { PLOT, rulesPath } from './paths.ts';

/** The style of charts. */
export const CHARTS_STYLE: Asset = asset('charts.css', textFile(new URL('./charts.css', import.meta.url)));

/** The script that shows the values of a chart under the pointer. Charts work without it. */
export const CHARTS_SCRIPT: Asset = asset('charts.js', textFile(new URL('./charts.js', import.meta.url)));

/**
 * The figures of a chart as a table. `rows` has one row for each column of the chart, the oldest first; the
 * page shows the newest first.
 */
export type ChartTable = {
  /** Titles of the columns after the column of times. */
  readonly titles: readonly string[];
  readonly rows: readonly (readonly string[])[];
};

export type Chart = {
  /** Title of the chart: `Latency`. */
  readonly title: string;
  /** Description of the chart in a sentence or two, for screen readers. */
  readonly summary: string;
  /** Range and region of the chart. The script replaces this text by the values under the pointer. */
  readonly note: Html;
  readonly columns: TimeColumns;
  readonly axis: ValueAxis;
  /** The text of a value on the axis. */
  readonly valueText: (value: number) => string;
  /** The legend: a sample, a name and a value for each line or area. */
  readonly key: Html;
  /** Content of an SVG whose size is `PLOT`. */
  readonly drawing: Html;
  /** A narrow strip below the plot with the same columns. */
  readonly strip?: Html;
  readonly table: ChartTable;
};

const DAY_MS = 86_400_000;

/**
 * A chart over time with its legend, its axes and a table of its figures. The chart needs no script.
 *
 * The plot is stretched to the available width. The texts of the axes are HTML beside the plot, so they have
 * the size of other texts on every screen. The SVG attribute `vector-effect` keeps lines at their width.
 */
export function renderChart(chart: Chart): Html {
  const { title, summary, note, columns, axis, valueText, key, drawing, strip = NO_HTML, table } = chart;
  return html`<figure class="chart" data-chart="${title}">
<ul class="chart-key">${key}</ul>
<p class="chart-note soft small">${note}</p>
<div class="chart-body">
<div class="chart-values" aria-hidden="true">${axis.ticks.map((tick) => html`<span>${valueText(tick)}</span>`)}</div>
<div class="chart-plot">
<svg class="chart-lines" viewBox="0 0 ${PLOT.width} ${PLOT.height}" preserveAspectRatio="none" role="img" aria-label="${`${title}. ${summary}`}">
<path class="chart-rule" d="${rulesPath(axis.ticks, axis.top)}"/>${drawing}</svg>${strip}
</div>
<div class="chart-times" aria-hidden="true">${timeTicks(columns).map((at) => html`<span><span>${tickText(at, columns)}</span></span>`)}</div>
</div>
${figures(chart, table)}
</figure>`;
}

/** The time of day; below the day, if the axis is longer than a day. */
function tickText(at: number, { bucketMs, count }: TimeColumns): Html {
  return bucketMs * count <= DAY_MS ? timeOfDay(at) : html`${date(at)}<small>${timeOfDay(at)}</small>`;
}

function figures({ title, columns }: Chart, { titles, rows }: ChartTable): Html {
  const body = rows
    .map((cells, index) => {
      const at = columns.from + index * columns.bucketMs;
      return html`<tr><th scope="row">${instant(at)}</th>${cells.map((cell) => html`<td class="number">${cell}</td>`)}</tr>`;
    })
    .reverse();
  return html`<details class="chart-table">
<summary>${title}: figures as a table</summary>
<div class="table-frame chart-frame" role="region" tabindex="0" aria-label="${`${title}: figures`}">
<table><thead><tr><th scope="col">From</th>${titles.map((name) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
<tbody>${body}</tbody></table>
</div>
</details>`;
}

/** An entry of the legend: a sample, a name and a value. */
export function keyEntry(sample: Html, name: string, value: string): Html {
  return html`<li>${sample}<span>${name}</span> <strong>${value}</strong></li>`;
}

/**
 * An SVG path element; empty HTML for an empty path.
 *
 * @param className a class of `charts.css`
 */
export function drawn(className: string, path: string): Html {
  // Paths need no escaping, because they consist of numbers and letters. They are long, so escaping would
  // cost time.
  return path === '' ? NO_HTML : html`<path class="${className}" d="${raw(path)}"/>`;
}
