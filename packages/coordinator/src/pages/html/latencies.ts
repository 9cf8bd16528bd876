import type { Latency } from '../../history/latencies.ts';
import { type Html, html, NO_HTML, raw } from '../../web/html.ts';
import { instant } from '../../web/times.ts';
import type { ComponentView, PageView } from '../page-view.ts';
import type { Place } from '../place.ts';
import { linePath } from '../small-chart.ts';
import { fill } from '../text/text.ts';
import type { Words } from '../words.ts';

/** How fast a component answers, in words and as a small chart. Its days' page has the figures of the chart. */
export function latencyLine({ latencies }: ComponentView, { words }: Place): Html {
  if (latencies === null) return NO_HTML;
  const medians = latencies.buckets.map(({ median }) => median);
  const top = Math.max(...medians.map((median) => median ?? 0));
  if (top === 0) return html`<p>${words.text.noLatency}`;
  return html`<p><svg role=none>${raw(`<path d="${linePath(medians, top)}"/>`)}</svg>${latencyWords(latencies, words)}`;
}

function latencyWords({ median, p95 }: Latency, words: Words): string {
  return fill(words.text.latency, { median: words.latency(median), p95: words.latency(p95) });
}

/** What the small charts mean. */
export function latencyLegend({ latencyRange: range }: PageView, { words }: Place): Html {
  if (range === null) return NO_HTML;
  return html`<p class="soft small">${words.text.latencyLegend[range]}</p>
`;
}

/** The figures of the small chart, newest first. */
export function latencyTable(
  { latencyRange: range }: PageView,
  { name, latencies }: ComponentView,
  words: Words,
): Html {
  if (range === null || latencies === null) return NO_HTML;
  const { text, language } = words;
  const caption = fill(text.latencyCaption[range], { name });
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
