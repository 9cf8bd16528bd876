import { MONITOR_TYPES } from '@svc/shared/resources/monitors.ts';
import { type MonitorStatesView, monitorStates } from '../../api/routes/monitors.ts';
import { OVERVIEW_ORDERS, SHOWN_STATES } from '../../store/monitor-overview.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import type { DashboardPage, DashboardRequest } from '../page.ts';
import { pageHead } from '../page-head.ts';
import { numberIn, offsetPaging, pathWith } from '../paging.ts';
import { stateTabs } from './state-tabs.ts';
import { monitorTable } from './table.ts';

/** Monitors of one page of the list. */
const LIMIT = 50;
const LAST_OFFSET = 1_000_000;

/** The overview: all monitors with their states, the most urgent first. */
export const overviewPage: DashboardPage = {
  method: 'GET',
  path: '/',
  scope: 'read',
  navigation: { label: 'Monitors', group: 'Watch' },
  async handle(request) {
    const { api, query, leadsTo } = request;
    const offset = numberIn(query, 'offset', 0, LAST_OFFSET);
    const found = await api.read(monitorStates, searchOf(query, offset));
    const isNew = found.total === 0 && query.size === 0;
    const actions = leadsTo('/monitors/new')
      ? html`<a class="button button-main" href="/monitors/new">New monitor</a>`
      : NO_HTML;
    return {
      title: titleOf(found),
      isLive: true,
      body: html`${pageHead('Monitors', { actions })}
${
  isNew
    ? firstSteps(request)
    : html`<div id="monitor-states" data-live>${stateTabs(query, found)}</div>
${searchForm(query)}
<div id="monitors" class="stack" data-live>
${found.data.length === 0 ? nothingFound(query) : monitorTable(request, found.data)}
${offsetPaging({ path: '/', query, total: found.total, limit: LIMIT, offset })}
</div>`
}`,
    };
  },
};

/** The window's title says first what is down. */
function titleOf({ counts }: MonitorStatesView): string {
  return counts.error === 0 ? 'Monitors' : `${counts.error} down · Monitors`;
}

/** The query for the API. Values that the API would refuse, as of an old bookmark, are left out. */
function searchOf(query: URLSearchParams, offset: number) {
  const known = (name: string, values: readonly string[]) =>
    values.find((value) => value === query.get(name));
  return {
    limit: LIMIT,
    offset,
    name: query.get('name')?.trim().slice(0, 256) || null,
    type: known('type', MONITOR_TYPES),
    state: known('state', SHOWN_STATES),
    maintenance: known('maintenance', ['true', 'false']),
    sort: known('sort', OVERVIEW_ORDERS),
  };
}

function searchForm(query: URLSearchParams): Html {
  const kept = ['state', 'maintenance', 'sort'].filter((name) => query.has(name));
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

function nothingFound(query: URLSearchParams): Html {
  const name = query.get('name') ?? '';
  return html`<div class="empty"><h2>No monitor matches</h2>
<p class="soft">${name === '' ? 'No monitor is in this state.' : html`No monitor of this selection has “${name}” in its name.`}</p>
<p><a href="${pathWith('/', query, { name: null, type: null, state: null, maintenance: null, offset: null })}">Show all monitors</a></p></div>`;
}

function firstSteps({ leadsTo }: DashboardRequest): Html {
  return html`<div class="empty"><h2>No monitors yet</h2>
<p class="soft">A monitor checks a web address, a port or a name from several regions, and tells your channels when most of them agree that it is down.</p>
${leadsTo('/monitors/new') ? html`<p><a class="button button-main" href="/monitors/new">Create the first monitor</a></p>` : NO_HTML}
<p class="soft">Monitors can also be declared in a file or with Terraform, or created over the <a href="/docs">HTTP API</a>.</p></div>`;
}
