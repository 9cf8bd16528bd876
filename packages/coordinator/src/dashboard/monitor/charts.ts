import type { Phases } from '@svc/shared/messages/check-result.ts';
import { compareRegions, isRegionId, type Region, type RegionText } from '@svc/shared/regions.ts';
import type { PhasesView, SeriesView } from '../../api/routes/series.ts';
import { SERIES_RANGES, type SeriesRange } from '../../verdict/series-range.ts';
import { type Line, renderLineChart, sparkline } from '../../web/charts/line-chart.ts';
import { renderStackChart } from '../../web/charts/stack-chart.ts';
import { latencyText, percentage } from '../../web/figures.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { age, zoneName } from '../../web/times.ts';
import type { DashboardRequest } from '../dashboard-page.ts';
import { counted } from '../page-parts.ts';
import { outcomeLabel } from '../state-labels.ts';
import type { MonitorView } from './monitor-head.ts';

/** The range and region that the charts show. */
type ChartChoice = {
  readonly range: SeriesRange;
  /** Null: all regions together. */
  readonly region: Region | null;
};

const RANGE_WORDS: Readonly<Record<SeriesRange, string>> = {
  '1h': '1 hour',
  '6h': '6 hours',
  '24h': '24 hours',
  '7d': '7 days',
  '14d': '14 days',
  '90d': '90 days',
};
const RANGES = Object.keys(SERIES_RANGES) as SeriesRange[];

/**
 * Reads the range and the region from a page's query. The
 * default for a wrong value is 24 hours, or all regions.
 */
export function chosenCharts(query: URLSearchParams): ChartChoice {
  const range = RANGES.find((each) => each === query.get('range')) ?? '24h';
  const region = query.get('region') ?? '';
  return { range, region: isRegionId(region) ? region : null };
}

/** The query of a page that shows this range and region. */
function choiceQuery({ range, region }: ChartChoice): string {
  return `?range=${range}${region === null ? '' : `&region=${region}`}`;
}

/**
 * Links that choose the range, and a form that chooses the region.
 *
 * @param regions the regions that can be chosen
 */
export function chartControls(choice: ChartChoice, regions: readonly Region[], regionText: RegionText): Html {
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
${regions.map(
  (region) =>
    html`<option value="${region}"${region === choice.region ? html` selected` : NO_HTML}>${regionText(region)}</option>`,
)}
</select>
<button>Show</button>
</form>
</div>`;
}

/**
 * Height of the smallest bar, as a share of the strip's height. At this height, a single failure is visible.
 */
const SEEN = 0.3;

const PERCENTILES = [
  { name: 'p50', style: 'solid' },
  { name: 'p95', style: 'dashed' },
  { name: 'p99', style: 'dotted' },
] as const;

/** Minimum number of columns of a chart, so that a young monitor does not have one wide column. */
const LEAST_COLUMNS = 12;

/** The buckets of a chart, from the first bucket with data on. */
export function fromFirstData<T extends { readonly at: number }>(
  buckets: readonly T[],
  hasData: (bucket: T) => boolean,
): readonly T[] {
  const first = buckets.findIndex(hasData);
  return first < 0 ? buckets : buckets.slice(Math.min(first, Math.max(0, buckets.length - LEAST_COLUMNS)));
}

/** Whether the series has a result with an outcome. Without one, its chart would be empty. */
export function hasResults({ results }: SeriesView): boolean {
  return countOf(results) > 0;
}

/** The chart of latency percentiles over time, with a strip of the shares of failed results below. */
export function latencyChart(view: SeriesView, regionText: RegionText): Html {
  const { bucket_ms: bucketMs, latency } = view;
  const series = fromFirstData(view.series, ({ results }) => countOf(results) > 0);
  const from = series[0]?.at ?? view.from;
  const lines = PERCENTILES.map(
    ({ name, style }): Line => ({
      name,
      style,
      whole: latencyText(latency[name]),
      values: series.map((bucket) => bucket.latency[name]),
    }),
  );
  const buckets = series.map(({ results }) => ({
    failed: results.failed,
    all: countOf(results),
  }));
  return renderLineChart({
    title: 'Latency',
    summary: summaryOf(view),
    note: html`${RANGE_WORDS[view.range]}, ${placeText(view, regionText)}, times in ${zoneName()}. Failed results have no latency.`,
    columns: { from, bucketMs, count: series.length },
    valueText: latencyText,
    lines,
    strip: {
      name: 'Failed',
      whole: view.results.failed.toLocaleString('en'),
      shares: buckets.map(({ failed, all }) => (failed === 0 ? 0 : Math.max(SEEN, failed / all))),
      texts: buckets.map(({ failed, all }) => (all === 0 ? '–' : `${failed} of ${all}`)),
    },
  });
}

function placeText({ region }: Pick<SeriesView, 'region'>, regionText: RegionText): string {
  return region === null ? 'all regions' : regionText(region);
}

/** Number of results of checks that were run. */
function countOf({ passed, degraded, failed }: SeriesView['results']): number {
  return passed + degraded + failed;
}

function summaryOf({ series, results: { passed, degraded, failed } }: SeriesView): string {
  const spanOf = (name: 'p50' | 'p95') => {
    const values = series.map(({ latency }) => latency[name]).filter((value) => value !== null);
    return `from ${latencyText(Math.min(...values))} to ${latencyText(Math.max(...values))}`;
  };
  const all = passed + degraded + failed;
  const failures = `${failed.toLocaleString('en')} of ${counted(all, 'result')} failed.`;
  if (passed + degraded === 0) return failures;
  return `The median was ${spanOf('p50')}, the 95th percentile ${spanOf('p95')}. ${failures}`;
}

/** Words for the phases of a check, in the order of the phases. */
export const PHASE_WORDS: Readonly<Record<keyof Phases, string>> = {
  dns: 'Name',
  connect: 'Connection',
  tls: 'TLS',
  first_byte: 'First byte',
  transfer: 'Transfer',
};
export const PHASE_NAMES = Object.keys(PHASE_WORDS) as (keyof Phases)[];

const FILLS = [1, 2, 3, 4, 5] as const;

/**
 * The chart of the mean phases of checks over time. A phase without
 * values is left out: a TCP monitor, for example, has no TLS.
 */
export function phasesChart(view: PhasesView, regionText: RegionText): Html {
  const { bucket_ms: bucketMs, range, every } = view;
  const series = fromFirstData(view.series, ({ results }) => results > 0);
  const from = series[0]?.at ?? view.from;
  const results = series.reduce((sum, bucket) => sum + bucket.results, 0);
  if (results === 0)
    return html`<p class="soft">No result of this time has phases: they were deleted already, no check passed, or the period was changed since.</p>`;
  const layers = PHASE_NAMES.map((phase, index) => ({
    name: PHASE_WORDS[phase],
    fill: FILLS[index] ?? 1,
    whole: latencyText(meanOf(series, phase)),
    values: series.map(({ phases }) => phases?.[phase] ?? null),
  })).filter(({ values }) => values.some((value) => value !== null && value > 0));
  const sample = every === 1 ? counted(results, 'result') : `a sample of ${counted(results, 'result')}`;
  return renderStackChart({
    title: 'Phases',
    summary: `Means over the whole time: ${layers.map(({ name, whole }) => `${name} ${whole}`).join(', ')}.`,
    note: html`${RANGE_WORDS[range]}, ${placeText(view, regionText)}, times in ${zoneName()}. Means of ${sample} that passed or were degraded.`,
    columns: { from, bucketMs, count: series.length },
    valueText: latencyText,
    layers,
  });
}

/** The mean of a phase over all results of the series, ms. */
function meanOf(series: Readonly<PhasesView['series']>, phase: keyof Phases): number {
  let [sum, results] = [0, 0];
  for (const bucket of series) {
    sum += (bucket.phases?.[phase] ?? 0) * bucket.results;
    results += bucket.results;
  }
  return results === 0 ? 0 : sum / results;
}

/**
 * The regions in which the monitor is checked now, or was checked within
 * the range of the charts. They are in the fixed order of all regions.
 */
export function regionsOf(monitor: MonitorView, { regions }: SeriesView): Region[] {
  const known = new Set<string>([
    ...(monitor.regions ?? []),
    ...monitor.regions_status.map(({ region }) => region),
    ...regions.map(({ region }) => region),
  ]);
  return [...known].sort(compareRegions);
}

/**
 * A table of the regions, with the newest vote of each region, and its figures over the range of the charts.
 */
export function regionsSection(
  monitor: MonitorView,
  series: SeriesView,
  { now, regionText }: Pick<DashboardRequest, 'now' | 'regionText'>,
): Html {
  const regions = regionsOf(monitor, series);
  if (regions.length === 0)
    return html`<p class="soft">No region has reported yet. A monitor that names no regions is checked from every region with an agent: <a href="/regions">see the regions</a>.</p>`;
  const top = Math.max(1, ...series.regions.flatMap(({ p95 }) => p95.map((value) => value ?? 0)));
  const head = (name: string) => html`<th scope="col" class="number">${name}</th>`;
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="Figures of the regions">
<table class="regions"><thead><tr><th scope="col">Region</th><th scope="col">Newest vote</th>${['Results', 'Up', 'p50', 'p95', 'p99'].map(head)}<th scope="col" class="trend">p95 in ${RANGE_WORDS[series.range]}</th></tr></thead>
<tbody>${regions.map((region) => regionRow({ region, text: regionText(region), monitor, series, now, top }))}</tbody></table>
</div>`;
}

type Row = {
  region: Region;
  /** What people see of the region. */
  text: string;
  monitor: MonitorView;
  series: SeriesView;
  now: number;
  top: number;
};

function regionRow({ region, text, monitor, series, now, top }: Row): Html {
  const vote = monitor.regions_status.find((each) => each.region === region);
  const found = series.regions.find((each) => each.region === region);
  const link = html`<a href="${`${choiceQuery({ range: series.range, region })}#latency`}">${text}</a>`;
  const voted =
    vote === undefined
      ? html`<span class="soft">None that counts</span>`
      : html`${outcomeLabel(vote.vote)} <span class="soft small">${age(vote.slot, now)}</span>`;
  const cell = (text: string) => html`<td class="number">${text}</td>`;
  if (found === undefined)
    return html`<tr><th scope="row">${link}</th><td>${voted}</td>${['0', '–', '–', '–', '–'].map(cell)}<td></td></tr>`;
  const { results, latency, p95 } = found;
  const judged = results.passed + results.degraded + results.failed;
  const up = judged === 0 ? null : (results.passed + results.degraded) / judged;
  const figures = [
    judged.toLocaleString('en'),
    percentage(up),
    ...(['p50', 'p95', 'p99'] as const).map((name) => latencyText(latency[name])),
  ];
  return html`<tr><th scope="row">${link}</th><td>${voted}</td>${figures.map(cell)}<td class="trend">${sparkline(p95, top)}</td></tr>`;
}
