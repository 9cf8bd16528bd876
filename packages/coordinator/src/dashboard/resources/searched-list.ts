import { LIMITS } from '@svc/shared/limits.ts';
import type { EndpointAnswering } from '../../api/endpoint.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { FORM_STYLE } from '../dashboard-assets.ts';
import type { DashboardAnswer, DashboardRequest } from '../dashboard-page.ts';
import { pageHead } from '../page-parts.ts';

/** One page of a list, as the API answers it. */
type Listed<T> = {
  readonly data: readonly T[];
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
};

/** The search and the position in a list, from the address of the list's page. */
type ListQuery = {
  readonly name: string;
  readonly offset: number;
};

/** Maximum length of the text of a search, characters. */
const LONGEST_NAME = 256;

function listQuery(query: URLSearchParams): ListQuery {
  const name = (query.get('name') ?? '').slice(0, LONGEST_NAME);
  const offset = /^\d{1,9}$/.test(query.get('offset') ?? '') ? Number(query.get('offset')) : 0;
  return { name, offset };
}

/** The form that searches a list by name. */
export function nameSearch(path: string, { name }: Pick<ListQuery, 'name'>, label: string): Html {
  return html`<form class="list-search" method="get" action="${path}" role="search">
<label class="unseen" for="search-name">${label}</label>
<input type="search" id="search-name" name="name" value="${name}" placeholder="${label}">
<button>Search</button></form>`;
}

/** Links to the previous and the next page. */
function pager(path: string, { name }: ListQuery, { total, limit, offset, data }: Listed<unknown>): Html {
  if (total <= limit && offset === 0) return NO_HTML;
  const link = (to: number, label: string, rel: string) => {
    const query = new URLSearchParams({ ...(name === '' ? {} : { name }), offset: String(to) });
    return html`<a href="${path}?${query.toString()}" rel="${rel}">${label}</a>`;
  };
  const before = offset > 0 ? link(Math.max(0, offset - limit), 'Previous', 'prev') : NO_HTML;
  const after = offset + data.length < total ? link(offset + limit, 'Next', 'next') : NO_HTML;
  return html`<nav class="row pager" aria-label="Pages of the list"><span class="soft">${offset + 1} – ${offset + data.length} of ${total}</span>${before}${after}</nav>`;
}

/** The texts and parts of a page with a list that can be searched by name. */
export type SearchedList<T> = {
  readonly title: string;
  readonly lead: string;
  readonly path: string;
  /** The API's endpoint that answers the list. */
  readonly list: EndpointAnswering<Listed<T>>;
  readonly search: string;
  /** Text of the link to the form of a new resource. */
  readonly add: string;
  /** `none`: text for an empty list. `unmatched`: text for a search without a match. */
  readonly none: string;
  readonly unmatched: string;
  /** The cells of the table's head. */
  readonly head: Html;
  row(member: T): Html;
};

export async function searchedList<T>(
  { api, query, hasScope }: DashboardRequest,
  shown: SearchedList<T>,
): Promise<DashboardAnswer> {
  const { title, lead, path, search } = shown;
  const wanted = listQuery(query);
  const { name, offset } = wanted;
  const list = await api.read(shown.list, {
    limit: LIMITS.listDefault,
    offset,
    name: name === '' ? null : name,
  });
  const add = hasScope('write')
    ? html`<a class="button button-main" href="${path}/new">${shown.add}</a>`
    : NO_HTML;
  const isEmpty = list.total === 0 && name === '';
  return {
    title,
    styles: [FORM_STYLE],
    body: html`${pageHead(title, { actions: add, lead })}
${
  isEmpty
    ? html`<div class="empty"><p>${shown.none}</p>${add}</div>`
    : html`${nameSearch(path, wanted, search)}${listTable(shown, list)}${pager(path, wanted, list)}`
}`,
  };
}

function listTable<T>({ title, head, unmatched, row }: SearchedList<T>, { data }: Listed<T>): Html {
  if (data.length === 0) return html`<p class="empty">${unmatched}</p>`;
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="${title}"><table>
<thead><tr>${head}</tr></thead>
<tbody>${data.map(row)}</tbody></table></div>`;
}
