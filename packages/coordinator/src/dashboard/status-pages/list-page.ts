import { STATUS_PAGE } from '../../api/routes/status-pages.ts';
import { stateLabel } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { optionLabel } from '../forms/labels.ts';
import type { DashboardPage } from '../page.ts';
import { searchedList } from '../resources/lists.ts';
import type { StatusPageView } from './page-views.ts';

/** All status pages. */
export const statusPageList: DashboardPage = {
  method: 'GET',
  path: '/pages',
  scope: 'read',
  navigation: { label: 'Status pages', group: 'Tell' },
  handle: (request) =>
    searchedList(request, {
      title: 'Status pages',
      lead: 'What your visitors see.',
      path: '/pages',
      list: STATUS_PAGE.list,
      search: 'Search by title or slug',
      add: 'New status page',
      none: 'There is no status page yet. It tells the people who use your services what works, and what you do about what does not.',
      unmatched: 'No status page has this title or slug.',
      head: html`<th scope="col">Title</th><th scope="col">Served</th><th scope="col">Address</th><th scope="col">Who sees it</th>`,
      row,
    }),
};

function row(page: StatusPageView): Html {
  const { id, title, slug, custom_domain: domain, access_type: access } = page;
  return html`<tr><th scope="row"><a href="/pages/${id}">${title}</a></th>
<td>${servedState(page)}</td>
<td><a href="/status/${slug}">/status/${slug}</a>${domain === null ? NO_HTML : html`<br>${domain}`}</td>
<td>${optionLabel(access)}</td></tr>`;
}

/** Whether visitors get the page at all. */
export function servedState({ published }: Pick<StatusPageView, 'published'>): Html {
  return published ? stateLabel('operational', 'Served') : stateLabel('unknown', 'Not served');
}
