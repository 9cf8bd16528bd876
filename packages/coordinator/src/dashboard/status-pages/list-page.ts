import { stateLabel } from '../../web/design/states.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { optionLabel } from '../forms/labels.ts';
import type { DashboardPage } from '../page.ts';
import { pageHead } from '../page-head.ts';
import { type Listed, listQuery, nameSearch, pager } from '../resources/lists.ts';
import { FORM_STYLE } from '../resources/style.ts';
import type { StatusPageView } from './page-views.ts';

/** All status pages. */
export const statusPageList: DashboardPage = {
  method: 'GET',
  path: '/pages',
  scope: 'read',
  navigation: { label: 'Status pages', group: 'Tell' },
  async handle({ api, query, can }) {
    const wanted = listQuery(query);
    const list = await api.read<Listed<StatusPageView>>(`/v1/status-pages?${wanted.search}`);
    const add = can('write')
      ? html`<a class="button button-main" href="/pages/new">New status page</a>`
      : NO_HTML;
    return {
      title: 'Status pages',
      styles: [FORM_STYLE],
      body: html`${pageHead('Status pages', { actions: add, lead: 'What your visitors see.' })}
${list.total === 0 && wanted.name === '' ? nothing(add) : html`${nameSearch('/pages', wanted, 'Search by title or slug')}${table(list)}${pager('/pages', wanted, list)}`}`,
    };
  },
};

function nothing(add: Html): Html {
  return html`<div class="empty"><p>There is no status page yet. It tells the people who use your services what works, and what you do about what does not.</p>${add}</div>`;
}

function table({ data }: Listed<StatusPageView>): Html {
  if (data.length === 0) return html`<p class="empty">No status page has this title or slug.</p>`;
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="Status pages"><table>
<thead><tr><th scope="col">Title</th><th scope="col">Served</th><th scope="col">Address</th><th scope="col">Who sees it</th></tr></thead>
<tbody>${data.map(row)}</tbody></table></div>`;
}

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
