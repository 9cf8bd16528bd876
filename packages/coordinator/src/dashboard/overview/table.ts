import type { MonitorStateView } from '../../api/routes/monitors.ts';
import type { OverviewOrder } from '../../store/monitor-overview.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { age } from '../../web/times.ts';
import { maintenanceLabel, monitorState } from '../monitor-state.ts';
import type { DashboardRequest } from '../page.ts';
import { pathWith } from '../paging.ts';

/** The monitors of a page of the list. */
export function monitorTable(
  { query, now, leadsTo }: DashboardRequest,
  monitors: readonly MonitorStateView[],
): Html {
  const order = query.get('sort') ?? 'state';
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="Monitors"><table class="monitors">
<thead><tr>${heading('State', 'state', order, query)}${heading('Name', 'name', order, query)}
<th scope="col">Type</th><th scope="col">Every</th>${heading('Since', '-since', order, query)}</tr></thead>
<tbody>${monitors.map(
    ({ id, type, name, active, status, since, maintenance, target, periodicity }) => html`<tr>
<td>${monitorState(status, active)}${maintenance ? html`<br>${maintenanceLabel()}` : NO_HTML}</td>
<th scope="row">${leadsTo(`/monitors/${id}`) ? html`<a id="monitor-${id}" href="/monitors/${id}">${name}</a>` : name}${
      target === null ? NO_HTML : html`<span class="target soft small">${target}</span>`
    }</th>
<td class="soft">${type.toUpperCase()}</td><td class="soft">${periodicity ?? ''}</td>
<td class="soft since">${since === null || !active ? NO_HTML : age(since, now)}</td></tr>`,
  )}</tbody></table></div>`;
}

/** A heading whose link sorts by its column; again, and the order turns around. */
function heading(label: string, sort: OverviewOrder, order: string, query: URLSearchParams): Html {
  const column = sort.replace('-', '');
  const isSorted = order.replace('-', '') === column;
  const direction = order.startsWith('-') ? 'descending' : 'ascending';
  const turned = order === column ? `-${column}` : column;
  const next = column === 'state' ? null : isSorted ? turned : sort;
  return html`<th scope="col"${isSorted ? html` aria-sort="${direction}"` : NO_HTML}><a id="sort-${column}" href="${pathWith('/', query, { sort: next, offset: null })}">${label}</a>${
    isSorted ? html` <span aria-hidden="true">${direction === 'ascending' ? '↑' : '↓'}</span>` : NO_HTML
  }</th>`;
}
