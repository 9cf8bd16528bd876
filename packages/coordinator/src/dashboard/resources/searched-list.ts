import { LIMITS } from '@svc/shared/limits.ts';
import type { EndpointAnswering } from '../../api/endpoint.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';
import { FORM_STYLE } from '../dashboard-assets.ts';
import type { DashboardAnswer, DashboardRequest } from '../dashboard-page.ts';
import { offsetPaging, pageHead, readListPage } from '../page-parts.ts';

/** One page of a list, as the API answers it. */
type Listed<T> = {
  readonly data: readonly T[];
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
};

/** Maximum length of the text of a search, characters. */
const LONGEST_NAME = 256;

/** The form that searches a list by name. */
export function nameSearch(path: string, name: string, label: string): Html {
  return html`<form class="list-search" method="get" action="${path}" role="search">
<label class="unseen" for="search-name">${label}</label>
<input type="search" id="search-name" name="name" value="${name}" placeholder="${label}">
<button>Search</button></form>`;
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
  const name = (query.get('name') ?? '').slice(0, LONGEST_NAME);
  const list = await readListPage(query, (offset) =>
    api.read(shown.list, { limit: LIMITS.listDefault, offset, name: name === '' ? null : name }),
  );
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
    : html`${nameSearch(path, name, search)}${listTable(shown, list)}${offsetPaging(path, query, list)}`
}`,
  };
}

function listTable<T>({ title, head, unmatched, row }: SearchedList<T>, { data }: Listed<T>): Html {
  if (data.length === 0) return html`<p class="empty">${unmatched}</p>`;
  return html`<div class="table-frame" role="region" tabindex="0" aria-label="${title}"><table>
<thead><tr>${head}</tr></thead>
<tbody>${data.map(row)}</tbody></table></div>`;
}
