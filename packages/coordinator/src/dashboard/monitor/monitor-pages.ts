import type { RegionText } from '@svc/shared/regions.ts';
import { idOf } from '../../api/endpoint.ts';
import { monitorDeliveries } from '../../api/routes/deliveries.ts';
import { INCIDENT, type IncidentView } from '../../api/routes/incidents.ts';
import { WINDOW, type WindowView } from '../../api/routes/maintenance.ts';
import { MONITOR, type MonitorStateView, monitorStates, monitorUses } from '../../api/routes/monitors.ts';
import { listRegions } from '../../api/routes/regions.ts';
import { monitorResults, monitorTransitions } from '../../api/routes/results.ts';
import { monitorPhases, monitorSeries, monitorUptime, type UptimeView } from '../../api/routes/series.ts';
import { DAY_MS } from '../../verdict/summary-range.ts';
import { CHARTS_SCRIPT } from '../../web/charts/chart.ts';
import { renderStatusBars } from '../../web/charts/status-bars.ts';
import { type State, stateLabel } from '../../web/design/states.ts';
import { latencyText, percentText } from '../../web/figures.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { dayOf, durationText, instant, zoneName } from '../../web/times.ts';
import { MONITOR_STYLES } from '../dashboard-assets.ts';
import type { DashboardAnswer, DashboardPage, DashboardRequest, PageApi } from '../dashboard-page.ts';
import { channelNames, deliveriesList } from '../deliveries-list.ts';
import { acknowledgedBy, acknowledgeForm } from '../notes/incident-pages.ts';
import { cursorPaging } from '../page-parts.ts';
import { monitorWord, stateOfStatus } from '../state-labels.ts';
import { alertedSection } from './alerted-channels.ts';
import {
  chartControls,
  chosenCharts,
  fromFirstData,
  hasResults,
  latencyChart,
  phasesChart,
  regionsOf,
  regionsSection,
} from './charts.ts';
import { muteControl } from './monitor-actions.ts';
import { type MonitorView, monitorHead, type View } from './monitor-head.ts';
import { filterForm, filterIn, resultsList } from './results-list.ts';
import { changesList } from './status-changes.ts';
import { whatIfForm, whatIfReplay } from './what-if-page.ts';

/** The overview shows this number of the newest entries of each history. */
const NEWEST = 5;

/** The overview page of a monitor, with uptime, charts, regions, and the newest entries of each history. */
async function overviewOfMonitor(request: DashboardRequest): Promise<DashboardAnswer> {
  const { api, query, now, regionText } = request;
  const id = idOf(request);
  const choice = chosenCharts(query);
  const monitor = await api.read(MONITOR.read, { id });
  const [uptime, series, phases, changes, deliveries, results, maintenance, uses, states, incidents] =
    await Promise.all([
      api.read(monitorUptime, { id }),
      api.read(monitorSeries, { id, ...choice }),
      api.read(monitorPhases, { id, ...choice }),
      api.read(monitorTransitions, { id, limit: NEWEST }),
      api.read(monitorDeliveries, { id, limit: NEWEST }),
      api.read(monitorResults, { id, limit: NEWEST }),
      maintenanceAround(api, id),
      api.read(monitorUses, { id }),
      api.read(monitorStates, { ids: String(id) }),
      api.read(INCIDENT.list, { monitor_id: id, state: 'open', limit: 1 }),
    ]);
  const channels = await channelNames(
    api,
    deliveries.data.map(({ notification_id: id }) => id),
  );
  const alerted = await alertedSection(request, monitor, uses);
  const isNobody = uses.notification_count === 0;
  return {
    title: monitor.name,
    styles: MONITOR_STYLES,
    scripts: [CHARTS_SCRIPT],
    isLive: true,
    body: html`${monitorHead(monitor, 'Overview', request)}
${maintenanceNotice(maintenance)}
${incidentNotice(request, incidents.data)}
${muteNotice(request, id, states.data[0])}
<div class="stack-large">
${isNobody ? alerted : NO_HTML}
${uptimeSection(uptime, now)}
<section aria-labelledby="latency" class="stack">
<h2 id="latency">Latency</h2>
${chartControls(choice, regionsOf(monitor, series), regionText)}
${
  hasResults(series)
    ? html`${latencyChart(series, regionText)}
<h3>Where the time goes</h3>
${phasesChart(phases, regionText)}`
    : html`<p class="soft">There is no result of this time.</p>`
}
</section>
<section aria-labelledby="regions" class="stack"><h2 id="regions">Regions</h2><div id="region-figures" data-live>${regionsSection(monitor, series, request)}</div></section>
${isNobody ? NO_HTML : alerted}
${newest('Changes', changesList(changes.data, regionText), changes, id)}
${newest('Deliveries', deliveriesList(deliveries.data, channels), deliveries, id)}
${newest('Results', resultsList(results.data, regionText), results, id)}
${settings(monitor, regionText)}
</div>`,
  };
}

const EMPTY: Readonly<Record<'Changes' | 'Deliveries' | 'Results', string>> = {
  Changes: 'The status has not changed yet.',
  Deliveries: 'No alert about this monitor has been sent.',
  Results: 'No region has reported yet. The first result comes within one period.',
};

/** The newest entries of one history, with a link to the page of the whole history. */
function newest(
  title: keyof typeof EMPTY,
  list: Html,
  { data }: { readonly data: readonly unknown[] },
  id: number,
): Html {
  const name = title.toLowerCase();
  return html`<section aria-labelledby="${name}" class="stack"><h2 id="${name}">${title}</h2>
<div id="newest-${name}" class="stack" data-live>
${data.length === 0 ? html`<p class="soft">${EMPTY[title]}</p>` : html`${list}<p><a href="${`/monitors/${id}/${name}`}">All ${name}</a></p>`}
</div></section>`;
}

function inARow(checks: number, how: string): string {
  return checks === 1 ? `1 check that finds it ${how}` : `${checks} checks in a row that find it ${how}`;
}

function settings(monitor: MonitorView, regionText: RegionText): Html {
  const { description, periodicity, timeout, retry, degraded_at: degradedAt, regions, quorum } = monitor;
  const { confirm_after: confirmAfter, recover_after: recoverAfter } = monitor;
  return html`<section aria-labelledby="settings" class="stack"><h2 id="settings">Settings</h2>
<dl class="facts">
${description === null ? NO_HTML : html`<dt>Description</dt><dd>${description}</dd>`}
<dt>Checked every</dt><dd>${periodicity}</dd>
<dt>Timeout</dt><dd>${latencyText(timeout === 0 ? 45_000 : timeout)} for each attempt</dd>
<dt>Further attempts</dt><dd>${retry}</dd>
<dt>Degraded above</dt><dd>${degradedAt === 0 ? 'never' : latencyText(degradedAt)}</dd>
<dt>Regions</dt><dd>${regions === null ? 'every region with an agent' : regions.map(regionText).join(', ')}</dd>
<dt>Regions that must fail</dt><dd>${quorum === 'majority' ? 'more than half' : quorum}</dd>
<dt>Status changes after</dt><dd>${inARow(confirmAfter, 'worse')}, ${inARow(recoverAfter, 'better')}</dd>
</dl></section>`;
}

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

/**
 * The uptime of the monitor over the usual ranges, and on each
 * of the last 90 days. Days before the first data are left out.
 */
function uptimeSection({ ranges, days: last90 }: UptimeView, now: number): Html {
  const days = fromFirstData(last90, hasData);
  const begun = firstDataAt(last90, now);
  const since = begun === null ? null : dayOf(begun, now);
  return html`<section aria-labelledby="uptime" class="stack">
<h2 id="uptime">Uptime</h2>
<dl id="uptime-figures" class="figures" data-live>${figuresOf(ranges, since).map(
    ({ label, uptime, time }) =>
      html`<div><dt>${label}</dt><dd>${percentText(uptime)}</dd><dd class="soft small">${downText(time)}</dd></div>`,
  )}</dl>
${begun === null ? NO_HTML : barsOfDays(days)}
</section>`;
}

function barsOfDays(days: readonly Day[]): Html {
  return html`${renderStatusBars(days.map(stateOfDay), summaryOf(days))}
<p class="row status-bars-ends soft small"><span>${days.length - 1} days ago</span><span>Today (UTC)</span></p>
<details class="chart-table">
<summary>Uptime: days as a table</summary>
<div class="table-frame chart-frame" role="region" tabindex="0" aria-label="Uptime: days">
<table><thead><tr><th scope="col">Day in UTC, with times in ${zoneName()}</th><th scope="col">Worst state</th><th scope="col" class="number">Uptime</th><th scope="col" class="number">Down</th><th scope="col" class="number">Degraded</th><th scope="col" class="number">Maintenance</th><th scope="col" class="number">No data</th></tr></thead>
<tbody>${days.toReversed().map(dayRow)}</tbody></table>
</div>
</details>`;
}

type Day = UptimeView['days'][number];
type Range = UptimeView['ranges'][number];

/**
 * The figures of the ranges. If a range begins before the first data, all longer ranges
 * have the same figure and are left out. The label of that range says when the data began.
 *
 * @param since the day on which the data began; null: there is no data
 */
export function figuresOf(
  ranges: readonly Range[],
  since: Html | string | null,
): readonly (Pick<Range, 'uptime' | 'time'> & { readonly label: Html })[] {
  const longest = ranges.at(-1);
  const whole = ranges.findIndex(
    ({ time }) => longest !== undefined && measured(time) === measured(longest.time),
  );
  return ranges.slice(0, whole + 1).map(({ range, ...figure }, index) => {
    const isShort = index === whole && index < ranges.length - 1 && since !== null;
    return { ...figure, label: isShort ? html`Since ${since}` : html`${RANGE_WORDS[range]}` };
  });
}

/**
 * The instant at which the data began, as far as the days tell: of the first day with data they have how long there
 * was data, and it is the end of that day unless the day is not over. Epoch ms; null: there is no data.
 *
 * @param now epoch ms
 */
export function firstDataAt(days: readonly Pick<Day, 'at' | 'time'>[], now: number): number | null {
  const first = days.find(hasData);
  return first === undefined ? null : Math.min(now, first.at + DAY_MS) - measured(first.time);
}

function hasData({ time }: Pick<Day, 'time'>): boolean {
  return measured(time) > 0;
}

/** The time with data, ms. */
function measured({ active, degraded, error, maintenance }: Range['time']): number {
  return active + degraded + error + maintenance;
}

/** The state of a day. A day without data is shown as maintenance if it had maintenance. */
function stateOfDay({ status, time }: Day): State {
  return status === 'unknown' && time.maintenance > 0 ? 'maintenance' : stateOfStatus(status);
}

function dayRow({ at, status, uptime, time }: Day): Html {
  const length = (ms: number) => (ms === 0 ? '–' : durationText(ms));
  return html`<tr><th scope="row"><time datetime="${new Date(at).toISOString()}" data-show="utc-day">${DAY.format(at)}</time></th><td>${monitorWord(status)}</td><td class="number">${percentText(uptime)}</td><td class="number">${length(time.error)}</td><td class="number">${length(time.degraded)}</td><td class="number">${length(time.maintenance)}</td><td class="number">${length(time.unknown)}</td></tr>`;
}

function downText({ active, degraded, error }: UptimeView['ranges'][number]['time']): string {
  if (active + degraded + error === 0) return 'no data yet';
  return error === 0 ? 'never down' : `${durationText(error)} down`;
}

function summaryOf(days: readonly Day[]): string {
  const many = (status: Day['status']) => days.filter((day) => day.status === status).length;
  return `The worst state on each of the last ${days.length} days: down on ${many('error')}, degraded on ${many('degraded')}, up on ${many('active')}, without data on ${many('unknown')}.`;
}

/** Maximum number of planned windows that are read to find the next window of a monitor. */
const MOST_PLANNED = 100;

type Around = { readonly active: readonly WindowView[]; readonly next: WindowView | null };

/** Reads the active maintenance windows of a monitor, and the next planned window. */
async function maintenanceAround(api: PageApi, monitor: number): Promise<Around> {
  const list = (state: WindowView['state'], limit: number) =>
    api.read(WINDOW.list, { monitor_id: monitor, state, limit });
  const [active, planned] = await Promise.all([list('active', 10), list('planned', MOST_PLANNED)]);
  const [next = null] = planned.data.toSorted((a, b) => beginOf(a) - beginOf(b));
  return { active: active.data, next };
}

function beginOf({ occurrence }: WindowView): number {
  return occurrence === null ? Number.POSITIVE_INFINITY : Date.parse(occurrence.starts_at);
}

/** The notice about the active maintenance windows and the next window. */
function maintenanceNotice({ active, next }: Around): Html {
  return html`<div id="monitor-maintenance" class="stack" data-live>${active.map(
    (window) =>
      html`<p class="notice">${stateLabel('maintenance', 'Under maintenance')} by ${linkTo(window)} until ${timeOf(window.occurrence?.ends_at)}. Until then alerts are held, and the time does not count for the uptime.</p>`,
  )}${
    next === null
      ? NO_HTML
      : html`<p class="soft">Next maintenance: ${linkTo(next)}, from ${timeOf(next.occurrence?.starts_at)} to ${timeOf(next.occurrence?.ends_at)}.</p>`
  }</div>`;
}

/**
 * Says since when the incident of the monitor is open and who looks after it, with the form that acknowledges it. The
 * form is not replaced on an open page, because somebody may be writing in it.
 */
function incidentNotice(request: DashboardRequest, incidents: readonly IncidentView[]): Html {
  const said = incidents.map(({ id, started_at: began, acknowledgement }) => {
    const acknowledged =
      acknowledgement === null
        ? html`Nobody has acknowledged it.`
        : html`Acknowledged ${acknowledgedBy(acknowledgement)}`;
    return html`<p class="notice">The <a href="/incidents/${id}">incident</a> is open since ${timeOf(began)}. ${acknowledged}</p>`;
  });
  const open = incidents.filter(({ acknowledgement }) => acknowledgement === null);
  return html`<div id="monitor-incident" class="stack" data-live>${said}</div>
${open.map((incident) => acknowledgeForm(request, incident))}`;
}

/**
 * Makes a notice that says until when the monitor is muted, with a button that
 * ends the mute. If the monitor is not muted, makes the button that mutes it.
 */
function muteNotice({ canOpen, formToken }: DashboardRequest, id: number, state?: MonitorStateView): Html {
  const mute = state?.mute ?? null;
  const said =
    mute === null
      ? NO_HTML
      : html`<p class="notice">${stateLabel('maintenance', 'Muted')} until ${timeOf(mute.until)} by ${mute.by}. Until then alerts are held. The time counts for the uptime.</p>`;
  const button =
    mute === null
      ? html`<form id="mute" method="post" action="/monitors/${id}/mute">${formToken}${muteControl('mute')}</form>`
      : html`<form method="post" action="/monitors/${id}/unmute">${formToken}<button>Unmute</button></form>`;
  return html`<div id="monitor-mute" class="stack" data-live>${said}</div>
${canOpen(`/monitors/${id}/mute`, 'POST') ? button : NO_HTML}`;
}

function linkTo({ id, title }: WindowView): Html {
  return html`<a href="/maintenance/${id}">${title}</a>`;
}

function timeOf(text: string | undefined): Html {
  return text === undefined ? html`its end` : instant(Date.parse(text));
}

/** Number of entries on a page of a history. */
const ENTRIES = 50;

/** The pages of one monitor. */
export const MONITOR_PAGES: readonly DashboardPage[] = [
  {
    method: 'GET',
    path: '/monitors/{id}',
    scope: 'read',
    handle: overviewOfMonitor,
  },
  {
    method: 'GET',
    path: '/monitors/{id}/what-if',
    scope: 'read',
    handle: whatIfForm,
  },
  {
    method: 'POST',
    path: '/monitors/{id}/what-if',
    scope: 'read',
    handle: whatIfReplay,
  },
  historyPageOf('Results', async ({ api, query, regionText }, id) => {
    const path = `/monitors/${id}/results`;
    const filter = filterIn(query);
    const [{ data, next_cursor: next }, regions] = await Promise.all([
      api.read(monitorResults, { id, ...pageOf(query), ...filter }),
      api.read(listRegions, {}),
    ]);
    const isFiltered = Object.values(filter).some((value) => value !== null);
    return html`${filterForm(path, filter, {
      regions: regions.data.map(({ region }) => region),
      regionText,
    })}
${
  data.length > 0
    ? resultsList(data, regionText)
    : isFiltered
      ? empty(
          'No such results',
          html`No stored result matches. <a href="${path}">Show all results</a>, or choose a longer time.`,
        )
      : empty(
          'No results yet',
          html`A result appears when the first region has checked the monitor, at the latest after one period.`,
        )
}
${cursorPaging(path, query, next)}`;
  }),
  historyPageOf('Changes', async ({ api, query, regionText }, id) => {
    const { data, next_cursor: next } = await api.read(monitorTransitions, { id, ...pageOf(query) });
    return html`${data.length > 0 ? changesList(data, regionText) : empty('No changes yet', html`Each change of the status will be listed here, with the votes of the regions that caused it.`)}
${cursorPaging(`/monitors/${id}/changes`, query, next)}`;
  }),
  historyPageOf('Deliveries', async ({ api, query }, id) => {
    const { data, next_cursor: next } = await api.read(monitorDeliveries, { id, ...pageOf(query) });
    const channels = await channelNames(
      api,
      data.map(({ notification_id: id }) => id),
    );
    return html`${
      data.length > 0
        ? deliveriesList(data, channels)
        : empty(
            'No alerts yet',
            html`Alerts about this monitor will be listed here. They go to the <a href="/channels">channels</a> that are linked to it.`,
          )
    }
${cursorPaging(`/monitors/${id}/deliveries`, query, next)}`;
  }),
];

/** Makes the page that shows one history of a monitor. */
function historyPageOf(
  view: View,
  content: (request: DashboardRequest, id: number) => Promise<Html>,
): DashboardPage {
  return {
    method: 'GET',
    path: `/monitors/{id}/${view.toLowerCase()}`,
    scope: 'read',
    async handle(request) {
      const id = idOf(request);
      const monitor = await request.api.read(MONITOR.read, { id });
      return {
        title: `${view} of ${monitor.name}`,
        styles: MONITOR_STYLES,
        body: html`${monitorHead(monitor, view, request)}
<section aria-labelledby="list" class="stack"><h2 id="list" class="unseen">${view}</h2>${await content(request, id)}</section>`,
      };
    },
  };
}

function pageOf(query: URLSearchParams) {
  return { limit: ENTRIES, cursor: query.get('cursor') };
}

function empty(title: string, next: Html): Html {
  return html`<div class="empty"><h3>${title}</h3><p>${next}</p></div>`;
}
