import type { Latency } from '../../history/latencies.ts';
import { type Html, html, NO_HTML, raw } from '../../web/html.ts';
import { instant } from '../../web/times.ts';
import type { ComponentView, PageView } from '../page-view.ts';
import type { Place } from '../place.ts';
import { fillIn } from '../text/texts.ts';
import type { Words } from '../words.ts';

/**
 * Renders the latency of a component in words and as a small chart.
 * The component's page of days has the figures of the chart.
 */
export function latencyLine({ latencies }: ComponentView, { words }: Place): Html {
  if (latencies === null) return NO_HTML;
  const medians = latencies.buckets.map(({ median }) => median);
  const top = Math.max(...medians.map((median) => median ?? 0));
  if (top === 0) return html`<p>${words.text.noLatency}`;
  return html`<p><svg role=none>${raw(`<path d="${linePath(medians, top)}"/>`)}</svg>${latencyWords(latencies, words)}`;
}

function latencyWords({ median, p95 }: Latency, words: Words): string {
  return fillIn(words.text.latency, { median: words.latency(median), p95: words.latency(p95) });
}

/** Renders the legend of the small charts. */
export function latencyLegend({ latencyRange: range }: PageView, { words }: Place): Html {
  if (range === null) return NO_HTML;
  return html`<p class="soft small">${words.text.latencyLegend[range]}</p>
`;
}

/** Renders the figures of a component's small chart as a table, newest first. */
export function latencyTable(
  { latencyRange: range }: PageView,
  { name, latencies }: ComponentView,
  words: Words,
): Html {
  if (range === null || latencies === null) return NO_HTML;
  const { text, language } = words;
  const caption = fillIn(text.latencyCaption[range], { name });
  const rows = latencies.buckets.toReversed().map(
    ({ at, median, p95 }) =>
      html`<tr><th scope="row">${instant(at, language)}</th><td class="number">${words.latency(median)}</td><td class="number">${words.latency(p95)}</td></tr>
`,
  );
  return html`<section aria-labelledby="speed"><h2 id="speed">${text.latencyTitle}</h2>
<p>${latencies.median === null ? text.noLatency : latencyWords(latencies, words)}</p>
<div class="table-frame" role="region" tabindex="0" aria-label="${caption}"><table>
<caption>${caption}</caption>
<thead><tr><th scope="col">${text.latencyFrom}</th><th scope="col" class="number">${text.latencyMedian}</th><th scope="col" class="number">${text.latencyP95}</th></tr></thead>
<tbody>
${rows}</tbody>
</table></div></section>
`;
}

/*
 * Measures of the small charts, px. Neighbouring values are 9 px apart, the
 * value 0 is at y = 23, and the highest value is at y = 1. Points are relative
 * to their predecessors, which takes half as many characters as absolute points.
 */
const STEP = 9;
const BOTTOM = 23;
const HEIGHT = 22;

/** Values of a chart, oldest first. Null: there is no value for this time. */
type Values = readonly (number | null)[];

/**
 * Makes SVG path data of a line through the values, with a gap for each null. A value between
 * two gaps is drawn as a line of length 0, whose round ends make it visible as a dot.
 *
 * @param top the highest value, > 0
 */
export function linePath(values: Values, top: number): string {
  return runsOf(values, top)
    .map(({ x, heights }) => `M${x} ${heights[0] ?? 0}${heights.length === 1 ? 'h0' : steps(heights)}`)
    .join('');
}

/** Splits the values at the gaps. Returns each run of values with its x and the heights of its points. */
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
