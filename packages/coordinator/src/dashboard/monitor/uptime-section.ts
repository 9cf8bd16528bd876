import type { UptimeView } from '../../api/routes/series.ts';
import { renderStatusBars } from '../../web/charts/status-bars.ts';
import type { State } from '../../web/design/states.ts';
import { percentage } from '../../web/figures.ts';
import { type Html, html } from '../../web/html.ts';
import { durationText } from '../../web/times.ts';
import { monitorWord, stateOfStatus } from '../monitor-state.ts';

const RANGE_WORDS: Readonly<Record<UptimeView['ranges'][number]['range'], string>> = {
  '24h': '24 hours',
  '7d': '7 days',
  '30d': '30 days',
  '90d': '90 days',
};

const DAY = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  timeZone: 'UTC',
});

/** The share of time in which the monitor was up, over the usual ranges and on each of the last 90 days. */
export function uptimeSection({ ranges, days }: UptimeView): Html {
  return html`<section aria-labelledby="uptime" class="stack">
<h2 id="uptime">Uptime</h2>
<dl id="uptime-figures" class="figures" data-live>${ranges.map(
    ({ range, uptime, time }) =>
      html`<div><dt>${RANGE_WORDS[range]}</dt><dd>${percentText(uptime)}</dd><dd class="soft small">${downText(time)}</dd></div>`,
  )}</dl>
${renderStatusBars(days.map(stateOfDay), summaryOf(days))}
<p class="row status-bars-ends soft small"><span>89 days ago</span><span>Today</span></p>
<details class="chart-table">
<summary>Uptime: days as a table</summary>
<div class="table-frame chart-frame" role="region" tabindex="0" aria-label="Uptime: days">
<table><thead><tr><th scope="col">Day (UTC)</th><th scope="col">Worst state</th><th scope="col" class="number">Uptime</th><th scope="col" class="number">Down</th><th scope="col" class="number">Degraded</th><th scope="col" class="number">Maintenance</th><th scope="col" class="number">No data</th></tr></thead>
<tbody>${days.toReversed().map(dayRow)}</tbody></table>
</div>
</details>
</section>`;
}

type Day = UptimeView['days'][number];

/** A day of which nothing but maintenance is known is shown as such. */
function stateOfDay({ status, time }: Day): State {
  return status === 'unknown' && time.maintenance > 0 ? 'maintenance' : stateOfStatus(status);
}

function dayRow({ at, status, uptime, time }: Day): Html {
  const length = (ms: number) => (ms === 0 ? '–' : durationText(ms));
  return html`<tr><th scope="row">${DAY.format(at)}</th><td>${monitorWord(status)}</td><td class="number">${percentText(uptime)}</td><td class="number">${length(time.error)}</td><td class="number">${length(time.degraded)}</td><td class="number">${length(time.maintenance)}</td><td class="number">${length(time.unknown)}</td></tr>`;
}

/** @param percent as the API has it: rounded down to two decimals; null: there is no data */
function percentText(percent: number | null): string {
  return percentage(percent === null ? null : percent / 100);
}

function downText({ active, degraded, error }: UptimeView['ranges'][number]['time']): string {
  if (active + degraded + error === 0) return 'no data yet';
  return error === 0 ? 'never down' : `${durationText(error)} down`;
}

function summaryOf(days: readonly Day[]): string {
  const many = (status: Day['status']) => days.filter((day) => day.status === status).length;
  return `The worst state on each of the last ${days.length} days: down on ${many('error')}, degraded on ${many('degraded')}, up on ${many('active')}, without data on ${many('unknown')}.`;
}
