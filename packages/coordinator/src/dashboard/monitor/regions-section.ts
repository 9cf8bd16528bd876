import { REGIONS, type Region } from '@svc/shared/regions.ts';
import type { SeriesView } from '../../api/routes/series.ts';
import { sparkline } from '../../web/charts/line-chart.ts';
import { latencyText, percentage } from '../../web/figures.ts';
import { type Html, html } from '../../web/html.ts';
import { age } from '../../web/times.ts';
import { choiceQuery, RANGE_WORDS } from './ranges.ts';
import { type MonitorView, outcomeLabel } from './shown.ts';

/** The regions that a monitor is, or was within the range, checked from, in the fixed order. */
export function regionsOf(monitor: MonitorView, { regions }: SeriesView): Region[] {
  const known = new Set<string>([
    ...(monitor.regions ?? []),
    ...monitor.regions_status.map(({ region }) => region),
    ...regions.map(({ region }) => region),
  ]);
  return REGIONS.filter((region) => known.has(region));
}

/** Each region's newest vote, and its results in the range of the charts. */
export function regionsSection(monitor: MonitorView, series: SeriesView, now: number): Html {
  const regions = regionsOf(monitor, series);
  if (regions.length === 0)
    return html`<p class="soft">No region has reported yet. A monitor that names no regions is checked from every region with an agent: <a href="/regions">see the regions</a>.</p>`;
  const top = Math.max(1, ...series.regions.flatMap(({ p95 }) => p95.map((value) => value ?? 0)));
  const head = (name: string) => html`<th scope="col" class="number">${name}</th>`;
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="Figures of the regions">
<table class="regions"><thead><tr><th scope="col">Region</th><th scope="col">Newest vote</th>${['Results', 'Up', 'p50', 'p95', 'p99'].map(head)}<th scope="col" class="trend">p95 in ${RANGE_WORDS[series.range]}</th></tr></thead>
<tbody>${regions.map((region) => regionRow({ region, monitor, series, now, top }))}</tbody></table>
</div>`;
}

type Row = { region: Region; monitor: MonitorView; series: SeriesView; now: number; top: number };

function regionRow({ region, monitor, series, now, top }: Row): Html {
  const vote = monitor.regions_status.find((each) => each.region === region);
  const found = series.regions.find((each) => each.region === region);
  const link = html`<a href="${`${choiceQuery({ range: series.range, region })}#latency`}">${region}</a>`;
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
