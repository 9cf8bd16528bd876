import { idOf } from '../../api/endpoint.ts';
import { monitorDeliveries } from '../../api/routes/deliveries.ts';
import { MONITOR } from '../../api/routes/monitors.ts';
import { monitorResults, monitorTransitions } from '../../api/routes/results.ts';

import { type Html, html } from '../../web/html.ts';
import { MONITOR_STYLES } from '../assets.ts';
import type { DashboardPage, DashboardRequest } from '../page.ts';
import { cursorPaging } from '../page-parts.ts';
import { changesList } from './changes-list.ts';
import { channelNames, deliveriesList } from './deliveries-list.ts';
import { monitorHead, type View } from './head.ts';
import { overviewOfMonitor } from './overview.ts';
import { filterForm, filterIn, resultsList } from './results.ts';

import { whatIfForm, whatIfReplay } from './what-if.ts';

/** Entries on a page of a history. */
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
  historyPageOf('Results', async ({ api, query }, id) => {
    const path = `/monitors/${id}/results`;
    const filter = filterIn(query);
    const { data, next_cursor: next } = await api.read(monitorResults, { id, ...pageOf(query), ...filter });
    const isFiltered = Object.values(filter).some((value) => value !== null);
    return html`${filterForm(path, filter)}
${
  data.length > 0
    ? resultsList(data)
    : isFiltered
      ? empty(
          'No such results',
          html`No stored result fits. <a href="${path}">Show all results</a>, or choose a longer time.`,
        )
      : empty(
          'No results yet',
          html`A result appears when the first region has checked the monitor, which takes a period at most.`,
        )
}
${cursorPaging(path, query, next)}`;
  }),
  historyPageOf('Changes', async ({ api, query }, id) => {
    const { data, next_cursor: next } = await api.read(monitorTransitions, { id, ...pageOf(query) });
    return html`${data.length > 0 ? changesList(data) : empty('No changes yet', html`Each change of the status will stand here, with the votes of the regions that made it.`)}
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
            html`Alerts about this monitor will stand here. They go to the <a href="/channels">channels</a> that are linked to it.`,
          )
    }
${cursorPaging(`/monitors/${id}/deliveries`, query, next)}`;
  }),
];

/** A page with one history of the monitor. */
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
