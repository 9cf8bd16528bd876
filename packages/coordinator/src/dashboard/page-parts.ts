import { type Html, html, NO_HTML } from '../web/html.ts';
import { withInstants } from '../web/times.ts';

type PageHeadOptions = {
  /** Links and forms to the right of the title. */
  readonly actions?: Html;
  /** The pages above this one, the outermost first. */
  readonly above?: readonly { readonly href: string; readonly label: string }[];
  /** Content before the title, such as the shape of a state. */
  readonly mark?: Html;
  /** A line below the title. */
  readonly lead?: Html | string;
};

/** The head of a page's content, with the only `h1` of the page. */
export function pageHead(title: string, { actions, above = [], mark, lead }: PageHeadOptions = {}): Html {
  return html`<header class="page-head">
${
  above.length === 0
    ? NO_HTML
    : html`<nav class="above" aria-label="Breadcrumb">${above.map(
        ({ href, label }) => html`<a href="${href}">${label}</a> <span aria-hidden="true">/</span> `,
      )}</nav>`
}
<div class="row row-apart"><h1>${mark ?? NO_HTML}${title}</h1>${actions === undefined ? NO_HTML : html`<div class="row">${actions}</div>`}</div>
${lead === undefined ? NO_HTML : html`<p class="soft">${lead}</p>`}
</header>`;
}

/** Shows the warnings of an object as sentences, with times in the visitor's zone. */
export function warningNotices(warnings: readonly string[]): Html {
  return html`${warnings.map(
    (warning) =>
      html`<p class="notice notice-warning">${withInstants(`${warning.slice(0, 1).toUpperCase()}${warning.slice(1)}.`)}</p>`,
  )}`;
}

/** The path of a page with changed query parameters; null removes a parameter. */
export function pathWith(
  path: string,
  query: URLSearchParams,
  changes: Readonly<Record<string, string | number | null>>,
): string {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) next.delete(name);
    else next.set(name, String(value));
  }
  const text = next.toString();
  return text === '' ? path : `${path}?${text}`;
}

/** A page of a list that is read by offset, as the API answers it. */
type ListPage = {
  readonly data: readonly unknown[];
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
};

/**
 * Reads the page of a list whose offset is in the query. If the
 * list has become shorter than the offset, the last page is read.
 */
export async function readListPage<T extends ListPage>(
  query: URLSearchParams,
  read: (offset: number) => Promise<T>,
): Promise<T> {
  const text = query.get('offset') ?? '';
  const page = await read(/^\d{1,9}$/.test(text) ? Number(text) : 0);
  const { data, total, limit, offset } = page;
  return data.length > 0 || offset === 0 ? page : read(Math.max(0, Math.ceil(total / limit) - 1) * limit);
}

/** Renders the position in a list that is read by offset, with links to the previous and the next page. */
export function offsetPaging(
  path: string,
  query: URLSearchParams,
  { data, total, limit, offset }: ListPage,
): Html {
  if (total <= limit && offset === 0) return NO_HTML;
  const figures = new Intl.NumberFormat('en');
  const before = Math.max(0, offset - limit);
  const last = offset + data.length;
  return html`<nav class="row row-apart" aria-label="Pages of the list">
<p class="soft">${figures.format(Math.min(offset + 1, total))} to ${figures.format(last)} of ${figures.format(total)}</p>
<p class="row">${offset === 0 ? NO_HTML : html`<a class="button" rel="prev" href="${pathWith(path, query, { offset: before === 0 ? null : before })}">Previous</a>`}
${last >= total ? NO_HTML : html`<a class="button" rel="next" href="${pathWith(path, query, { offset: offset + limit })}">Next</a>`}</p>
</nav>`;
}

/** Renders links to the newest and to older entries of a history that is read by cursor. */
export function cursorPaging(path: string, query: URLSearchParams, cursor: string | null): Html {
  if (cursor === null && !query.has('cursor')) return NO_HTML;
  return html`<nav class="row" aria-label="Pages of the list">
${query.has('cursor') ? html`<a class="button" href="${pathWith(path, query, { cursor: null })}">Newest</a>` : NO_HTML}
${cursor === null ? NO_HTML : html`<a class="button" rel="next" href="${pathWith(path, query, { cursor })}">Older</a>`}
</nav>`;
}

/** A count with its noun: `1 result`, `1,204 results`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}
