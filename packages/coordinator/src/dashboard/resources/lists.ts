import { LIMITS } from '@svc/shared/limits.ts';
import { type Html, html, NO_HTML } from '../../web/html.ts';

/** A page of a list of the API. */
export type Listed<T> = {
  readonly data: readonly T[];
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
};

/** What the address of a list's page asks for. */
export type ListQuery = {
  readonly name: string;
  readonly offset: number;
  /** The query for the API. */
  readonly search: string;
};

/** Longest name that can be searched for. */
const LONGEST_NAME = 256;

export function listQuery(query: URLSearchParams): ListQuery {
  const name = (query.get('name') ?? '').slice(0, LONGEST_NAME);
  const offset = /^\d{1,9}$/.test(query.get('offset') ?? '') ? Number(query.get('offset')) : 0;
  const search = new URLSearchParams({ limit: String(LIMITS.listDefault), offset: String(offset) });
  if (name !== '') search.set('name', name);
  return { name, offset, search: search.toString() };
}

/** The field that searches a list by name. */
export function nameSearch(path: string, { name }: ListQuery, label: string): Html {
  return html`<form class="list-search" method="get" action="${path}" role="search">
<label class="unseen" for="search-name">${label}</label>
<input type="search" id="search-name" name="name" value="${name}" placeholder="${label}">
<button>Search</button></form>`;
}

/** The links to the page before and after. */
export function pager(
  path: string,
  { name }: ListQuery,
  { total, limit, offset, data }: Listed<unknown>,
): Html {
  if (total <= limit && offset === 0) return NO_HTML;
  const link = (to: number, label: string, rel: string) => {
    const query = new URLSearchParams({ ...(name === '' ? {} : { name }), offset: String(to) });
    return html`<a href="${path}?${query.toString()}" rel="${rel}">${label}</a>`;
  };
  const before = offset > 0 ? link(Math.max(0, offset - limit), 'Previous', 'prev') : NO_HTML;
  const after = offset + data.length < total ? link(offset + limit, 'Next', 'next') : NO_HTML;
  return html`<nav class="row pager" aria-label="Pages of the list"><span class="soft">${offset + 1} – ${offset + data.length} of ${total}</span>${before}${after}</nav>`;
}
