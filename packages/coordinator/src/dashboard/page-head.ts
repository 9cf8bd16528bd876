import { type Html, html, NO_HTML } from '../web/html.ts';

type PageHeadOptions = {
  /** Links and forms at the right of the title. */
  readonly actions?: Html;
  /** The pages above this one, the outermost first. */
  readonly above?: readonly { readonly href: string; readonly label: string }[];
  /** Stands before the title: the mark of a state, say. */
  readonly mark?: Html;
  /** A line below the title. */
  readonly lead?: Html | string;
};

/** The head of a page's content, with its one `h1`. */
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
