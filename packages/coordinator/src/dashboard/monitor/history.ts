import { type Html, html, NO_HTML } from '../../web/html.ts';

/**
 * Links from a page of a history to its beginning and to what is older.
 *
 * @param path  of this page, without its query
 * @param query of this page; filters stay
 */
export function historyLinks(path: string, query: URLSearchParams, nextCursor: string | null): Html {
  const linkTo = (cursor: string | null) => {
    const next = new URLSearchParams(query);
    next.delete('cursor');
    if (cursor !== null) next.set('cursor', cursor);
    return next.size === 0 ? path : `${path}?${next}`;
  };
  if (nextCursor === null && !query.has('cursor')) return NO_HTML;
  return html`<nav class="row" aria-label="Pages of the list">
${query.has('cursor') ? html`<a class="button" href="${linkTo(null)}">Newest</a>` : NO_HTML}
${nextCursor === null ? NO_HTML : html`<a class="button" href="${linkTo(nextCursor)}" rel="next">Older</a>`}
</nav>`;
}
