import type { RegionText } from '@svc/shared/regions.ts';
import { MONITOR_TYPES } from '@svc/shared/resources/monitors.ts';
import { type MonitorStatesView, type MonitorStateView, monitorStates } from '../../api/routes/monitors.ts';
import {
  OVERVIEW_MARKS,
  OVERVIEW_ORDERS,
  type OverviewMark,
  type OverviewOrder,
  SHOWN_STATES,
  type ShownState,
} from '../../store/declaration/monitor-overview.ts';
import { HOUR_MS, hourOf } from '../../verdict/summary-range.ts';
import { CHARTS_STYLE } from '../../web/charts/chart.ts';
import { sparkline } from '../../web/charts/line-chart.ts';
import { renderStatusStrip } from '../../web/charts/status-bars.ts';
import { type State, stateMark } from '../../web/design/states.ts';
import { latencyText, percentText } from '../../web/figures.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { age, dayOf } from '../../web/times.ts';
import { channelName } from '../channels/channel-state.ts';
import type { DashboardPage, DashboardRequest } from '../dashboard-page.ts';
import { counted, offsetPaging, pageHead, pathWith, readListPage } from '../page-parts.ts';
import { MONITOR_STATES, markLabel, monitorState, stateOfMark, stateOfStatus } from '../state-labels.ts';
import { SELECTED, SELECTED_PATH, SELECTION_FORM, selectionButtons } from './monitor-actions.ts';

/** Number of monitors on one page of the list. */
const LIMIT = 50;

/** The page that lists all monitors with their states. By default, the most urgent state comes first. */
export const overviewPage: DashboardPage = {
  method: 'GET',
  path: '/',
  scope: 'read',
  navigation: { label: 'Monitors', group: 'Watch' },
  async handle(request) {
    const { api, query, canOpen } = request;
    const found = await readListPage(query, (offset) =>
      api.read(monitorStates, { ...searchOf(query), offset, include: 'history' }),
    );
    const isNew = found.total === 0 && query.size === 0;
    const actions = canOpen('/monitors/new')
      ? html`<a class="button button-main" href="/monitors/new">New monitor</a>`
      : NO_HTML;
    return {
      title: titleOf(found),
      styles: [CHARTS_STYLE],
      isLive: true,
      body: html`${pageHead('Monitors', { actions })}
<div id="failing-channels" data-live>${failingNotice(found)}</div>
${
  isNew
    ? firstSteps(request)
    : html`<div id="monitor-states" data-live>${filterTabs(query, found)}</div>
${searchForm(query)}
<div id="monitors" class="stack" data-live>
${found.data.length === 0 ? nothingFound(query) : selectableTable(request, found.data)}
${offsetPaging('/', query, found)}
</div>`
}`,
    };
  },
};

/**
 * The title of the browser window. It begins with the number of monitors that are down, unless none is down.
 */
function titleOf({ counts }: MonitorStatesView): string {
  return counts.error === 0 ? 'Monitors' : `${counts.error} down · Monitors`;
}

/**
 * Makes the query for the API. It leaves out values that the
 * API would refuse. An old bookmark may contain such values.
 */
function searchOf(query: URLSearchParams) {
  const known = (name: string, values: readonly string[]) =>
    values.find((value) => value === query.get(name));
  return {
    limit: LIMIT,
    name: query.get('name')?.trim().slice(0, 256) || null,
    type: known('type', MONITOR_TYPES),
    state: known('state', SHOWN_STATES),
    ...Object.fromEntries(OVERVIEW_MARKS.map((mark) => [mark, known(mark, ['true', 'false'])])),
    sort: known('sort', OVERVIEW_ORDERS),
  };
}

function searchForm(query: URLSearchParams): Html {
  const kept = ['state', ...OVERVIEW_MARKS, 'sort'].filter((name) => query.has(name));
  return html`<form class="search" method="get" action="/" role="search" aria-label="Monitors">
${kept.map((name) => html`<input type="hidden" name="${name}" value="${query.get(name)}">`)}
<div class="field"><label for="name">Name</label>
<input id="name" name="name" type="search" maxlength="256" value="${query.get('name') ?? ''}"></div>
<div class="field"><label for="type">Type</label>
<select id="type" name="type"><option value="">All</option>${MONITOR_TYPES.map(
    (type) =>
      html`<option value="${type}"${query.get('type') === type ? html` selected` : NO_HTML}>${type.toUpperCase()}</option>`,
  )}</select></div>
<button>Search</button>
</form>`;
}

/** Names and links the channels whose alerts are not delivered. */
function failingNotice({
  failing_channels: failing,
  failing_channel_count: count,
}: Pick<MonitorStatesView, 'failing_channels' | 'failing_channel_count'>): Html {
  if (count === 0) return NO_HTML;
  const more = count - failing.length;
  return html`<div class="notice notice-warning"><p>Alerts are not delivered by ${count === 1 ? 'this channel' : 'these channels'}:</p>
<ul>${failing.map(
    (channel) =>
      html`<li><a href="/channels/${channel.id}">${channelName(channel)}</a>${channel.reason === null ? NO_HTML : html`: ${channel.reason}`}</li>`,
  )}${more > 0 ? html`<li><a href="/channels">and ${more} more</a></li>` : NO_HTML}</ul></div>`;
}

function nothingFound(query: URLSearchParams): Html {
  const name = query.get('name') ?? '';
  const order = query.get('sort');
  return html`<div class="empty"><h2>No monitor matches</h2>
<p class="soft">${name === '' ? 'No monitor matches all these filters.' : html`No monitor of this selection has “${name}” in its name.`}</p>
<p><a href="${pathWith('/', new URLSearchParams(), order === null ? {} : { sort: order })}">Show all monitors</a></p></div>`;
}

function firstSteps({ canOpen }: DashboardRequest): Html {
  return html`<div class="empty"><h2>No monitors yet</h2>
<p class="soft">A monitor checks a web address, a port or a name from several regions, and tells your channels when most of them agree that it is down.</p>
${canOpen('/monitors/new') ? html`<p><a class="button button-main" href="/monitors/new">Create the first monitor</a></p>` : NO_HTML}
<p class="soft">Monitors can also be declared in a file or with Terraform, or created over the <a href="/docs">HTTP API</a>.</p></div>`;
}

/** The table of the monitors, with buttons for the ticked ones if the visitor may change monitors. */
function selectableTable(request: DashboardRequest, monitors: readonly MonitorStateView[]): Html {
  if (!request.hasScope('write')) return monitorTable(request, monitors);
  return html`<form id="${SELECTION_FORM}" method="post" action="${pathWith(SELECTED_PATH, request.query, {})}">${request.formToken}
${monitorTable(request, monitors)}</form>
${selectionButtons()}`;
}

function monitorTable(
  { query, now, canOpen, hasScope, regionText }: DashboardRequest,
  monitors: readonly MonitorStateView[],
): Html {
  const order = query.get('sort') ?? 'state';
  const canSelect = hasScope('write');
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="Monitors"><table class="monitors" role="table">
<thead role="rowgroup"><tr role="row">${canSelect ? html`<td role="cell"></td>` : NO_HTML}${heading('State', 'state', order, query)}${heading('Name', 'name', order, query)}
<th scope="col" role="columnheader">24 hours</th><th scope="col" role="columnheader">90 days</th><th scope="col" role="columnheader">Latency, p50</th>${heading('Since', '-since', order, query)}</tr></thead>
<tbody role="rowgroup">${monitors.map(
    (monitor) =>
      html`<tr role="row">${canSelect ? tickCell(monitor) : NO_HTML}${cellsOf(monitor, { canOpen, now, regionText })}</tr>`,
  )}</tbody></table></div>`;
}

function tickCell({ id, name }: MonitorStateView): Html {
  return html`<td class="tick" role="cell"><input type="checkbox" name="${SELECTED}" value="${id}" aria-label="${`Tick ${name}`}"></td>`;
}

function cellsOf(
  monitor: MonitorStateView,
  { canOpen, now, regionText }: Pick<DashboardRequest, 'canOpen' | 'now' | 'regionText'>,
): Html {
  const { id, type, name, active, status, since, target, periodicity } = monitor;
  return html`
<td class="state-cell" role="cell">${monitorState(status, active)}${marksOf(monitor).map((mark) => html`<br>${markLabel(mark)}`)}</td>
<th scope="row" role="rowheader">${canOpen(`/monitors/${id}`) ? html`<a id="monitor-${id}" href="/monitors/${id}">${name}</a>` : name}<span class="target soft small">${checkText(type, periodicity)}${target ?? ''}</span>${active ? againstLabel(monitor, now, regionText) : NO_HTML}</th>
${historyCells(monitor.history, now)}
<td class="soft since" role="cell">${since === null || !active ? NO_HTML : age(since, now)}</td>`;
}

function marksOf({ maintenance, mute, acknowledgement }: MonitorStateView): OverviewMark[] {
  const marks = { maintenance, muted: mute !== null, acknowledged: acknowledgement !== null };
  return OVERVIEW_MARKS.filter((mark) => marks[mark]);
}

/** The type and the period of a monitor: `HTTP every 30s `. */
function checkText(type: string, periodicity: string | null): string {
  return `${type.toUpperCase()}${periodicity === null ? '' : ` every ${periodicity}`} `;
}

/** Maximum number of regions that a row names. */
const MOST_REGIONS = 2;

/**
 * Names the regions that fail alone, with the time when the first of them
 * began, and then the other regions whose newest vote differs from the status.
 */
function againstLabel(
  { disagreeing, failing_alone: alone }: MonitorStateView,
  now: number,
  regionText: RegionText,
): Html {
  const failing = alone.map(({ region }) => region);
  const others = disagreeing.filter((region) => !failing.includes(region));
  const began = Math.min(...alone.map(({ since }) => since));
  return html`${
    failing.length === 0
      ? NO_HTML
      : html`<span class="against small">${namesOf(failing.map(regionText))} ${failing.length === 1 ? 'fails' : 'fail'} alone, first seen ${age(began, now)}</span>`
  }${
    others.length === 0
      ? NO_HTML
      : html`<span class="against small">${namesOf(others.map(regionText))} ${others.length === 1 ? 'disagrees' : 'disagree'}</span>`
  }`;
}

function namesOf(regions: readonly string[]): string {
  const more = regions.length - MOST_REGIONS;
  return `${regions.slice(0, MOST_REGIONS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** The cells of a monitor's recent history: two uptimes with their bars, and the latency with its line. */
function historyCells(history: MonitorStateView['history'], now: number): Html {
  if (history === undefined) return html`<td role="cell"></td><td role="cell"></td><td role="cell"></td>`;
  const { uptime_24h: day, uptime_90d: quarter, hours, days, latency, latencies } = history;
  const top = Math.max(1, ...latencies.map((value) => value ?? 0));
  const begun = begunWithin(history, now);
  return html`<td class="recent recent-hours" role="cell" data-label="24 hours">${percentText(day)}${barsOf(hours, 'hour')}</td>
<td class="recent recent-days" role="cell" data-label="90 days">${begun === null ? html`${percentText(quarter)}${barsOf(days, 'day')}` : html`<span class="soft">since ${dayOf(begun, now)}</span>`}</td>
<td class="recent" role="cell" data-label="Latency">${latencyText(latency)}${latency === null ? NO_HTML : sparkline(latencies, top)}</td>`;
}

/**
 * The hour in which the data of a monitor began, epoch ms; null: it began before the last 24 hours, or there is none.
 * Such a monitor has the same uptime of 90 days as of 24 hours.
 */
function begunWithin({ hours, days }: MonitorHistory, now: number): number | null {
  const first = hours.findIndex((state) => state !== 'unknown');
  const isOld = days.slice(0, -2).some((state) => state !== 'unknown');
  return first <= 0 || isOld ? null : hourOf(now) - (hours.length - 1 - first) * HOUR_MS;
}

type MonitorHistory = NonNullable<MonitorStateView['history']>;

type BarState = NonNullable<MonitorStateView['history']>['hours'][number];

/** A bar for each hour or day. Without any data there are no bars. */
function barsOf(states: readonly BarState[], unit: 'hour' | 'day'): Html {
  if (states.every((state) => state === 'unknown')) return NO_HTML;
  const count = (state: BarState) => states.filter((each) => each === state).length;
  const label = `Down in ${counted(count('error'), unit)}, degraded in ${counted(count('degraded'), unit)} of ${states.length}`;
  return renderStatusStrip(
    states.map((state) => (state === 'maintenance' ? state : stateOfStatus(state))),
    label,
  );
}

/**
 * A heading whose link sorts the list by its column. The link of the sorted column
 * reverses the order. The link of the column of states always restores the default order.
 */
function heading(label: string, sort: OverviewOrder, order: string, query: URLSearchParams): Html {
  const column = sort.replace('-', '');
  const isSorted = order.replace('-', '') === column;
  const direction = order.startsWith('-') ? 'descending' : 'ascending';
  const turned = order === column ? `-${column}` : column;
  const next = column === 'state' ? null : isSorted ? turned : sort;
  return html`<th scope="col" role="columnheader"${isSorted ? html` aria-sort="${direction}"` : NO_HTML}><a id="sort-${column}" href="${pathWith('/', query, { sort: next, offset: null })}">${label}</a>${
    isSorted ? html` <span aria-hidden="true">${direction === 'ascending' ? '↑' : '↓'}</span>` : NO_HTML
  }</th>`;
}

/**
 * Renders a link for each state, and one for each mark that a monitor has. A link leads
 * to the monitors in this state or with this mark, and shows their number.
 */
function filterTabs(query: URLSearchParams, found: MonitorStatesView): Html {
  const { counts } = found;
  const shown = query.get('state');
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const stateTab = (state: ShownState | null, label: Html, count: number) =>
    tab(
      {
        id: `state-${state ?? 'all'}`,
        href: pathWith('/', query, { state, offset: null }),
        isShown: shown === state,
      },
      label,
      count,
    );
  return html`<nav aria-label="Monitors by state" class="row"><ul class="tabs scrolls plain-list">
${stateTab(null, html`All`, total)}
${SHOWN_STATES.map((name) => {
  const { state, word } = MONITOR_STATES[name];
  return stateTab(name, html`${tabMark(state, counts[name] > 0)}${word}`, counts[name]);
})}</ul>${markTabs(query, found)}</nav>`;
}

/** What the links of the marks say. */
const MARK_TABS: Readonly<Record<OverviewMark, string>> = {
  maintenance: 'Under maintenance',
  muted: 'Muted',
  acknowledged: 'Acknowledged',
};

/** The filters for marks. They can be combined with a state and with each other. A second click ends a filter. */
function markTabs(query: URLSearchParams, found: MonitorStatesView): Html {
  const { under_maintenance: maintenance, muted, acknowledged } = found;
  const counts = { maintenance, muted, acknowledged };
  const isShown = (mark: OverviewMark) => query.get(mark) === 'true';
  const offered = OVERVIEW_MARKS.filter((mark) => counts[mark] > 0 || isShown(mark));
  if (offered.length === 0) return NO_HTML;
  return html`<ul class="tabs tabs-apart plain-list">${offered.map((mark) => {
    const href = pathWith('/', query, { [mark]: isShown(mark) ? null : 'true', offset: null });
    const label = html`${tabMark(stateOfMark(mark), true)}${MARK_TABS[mark]}`;
    return tab({ id: `mark-${mark}`, href, isShown: isShown(mark) }, label, counts[mark]);
  })}</ul>`;
}

function tab(
  { id, href, isShown }: { readonly id: string; readonly href: string; readonly isShown: boolean },
  label: Html,
  count: number,
): Html {
  return html`<li><a id="${id}" href="${href}"${isShown ? html` aria-current="true"` : NO_HTML}>${label} <span class="count">${count.toLocaleString('en')}</span></a></li>`;
}

function tabMark(state: State, hasAny: boolean): Html {
  return html`<span class="${hasAny ? `state state-${state}` : 'soft'}">${stateMark(state)}</span>`;
}
