import { isRegion, REGIONS, type Region } from '@svc/shared/regions.ts';
import { SERIES_RANGES, type SeriesRange } from '../../domain/series-range.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';

/** What the charts of a monitor's page show. */
export type ChartChoice = {
  readonly range: SeriesRange;
  /** null: all regions together. */
  readonly region: Region | null;
};

export const RANGE_WORDS: Readonly<Record<SeriesRange, string>> = {
  '1h': '1 hour',
  '6h': '6 hours',
  '24h': '24 hours',
  '7d': '7 days',
  '14d': '14 days',
  '90d': '90 days',
};
const RANGES = Object.keys(SERIES_RANGES) as SeriesRange[];

/** The choice in a query. What no link of the page has made is taken as the default. */
export function chosenCharts(query: URLSearchParams): ChartChoice {
  const range = RANGES.find((each) => each === query.get('range')) ?? '24h';
  const region = query.get('region') ?? '';
  return { range, region: isRegion(region) ? region : null };
}

/** The query of the API and of the page for a choice. */
export function choiceQuery({ range, region }: ChartChoice): string {
  return `?range=${range}${region === null ? '' : `&region=${region}`}`;
}

/** Links to the ranges, and a form for the region. @param regions those that can be chosen */
export function chartControls(choice: ChartChoice, regions: readonly Region[]): Html {
  const links = RANGES.map((range) => {
    const current = range === choice.range ? html` aria-current="true"` : NO_HTML;
    return html`<li><a href="${`${choiceQuery({ ...choice, range })}#latency`}"${current}>${RANGE_WORDS[range]}</a></li>`;
  });
  return html`<div class="row row-apart chart-controls">
<nav aria-label="Range of the charts"><ul class="plain-list row ranges">${links}</ul></nav>
<form method="get" class="row" action="#latency">
<input type="hidden" name="range" value="${choice.range}">
<label class="unseen" for="chart-region">Region of the charts</label>
<select id="chart-region" name="region">
<option value="">All regions</option>
${REGIONS.filter((region) => regions.includes(region)).map(
  (region) =>
    html`<option value="${region}"${region === choice.region ? html` selected` : NO_HTML}>${region}</option>`,
)}
</select>
<button>Show</button>
</form>
</div>`;
}
