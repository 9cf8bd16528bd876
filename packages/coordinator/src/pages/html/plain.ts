import { renderDocument } from '../../web/document.ts';
import { html } from '../../web/html.ts';
import { PAGE_STYLE } from '../assets.ts';
import type { Words } from '../words.ts';

/** For an address without a page, and for pages that the visitor must not know of. */
export function notFoundPage({ language, text }: Words): string {
  return plainPage(language, text.notFoundTitle, text.notFound);
}

/** For a page whose data cannot be read. */
export function unavailablePage({ language, text }: Words): string {
  return plainPage(language, text.unavailableTitle, text.unavailable);
}

function plainPage(language: string, title: string, sentence: string): string {
  return renderDocument({
    language,
    title,
    theme: 'system',
    kind: 'status-page',
    styles: [PAGE_STYLE],
    body: html`<main id="content"><header class="page-head"><h1>${title}</h1></header>
<p>${sentence}</p></main>`,
  });
}
