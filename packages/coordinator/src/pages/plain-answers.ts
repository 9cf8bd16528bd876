import { pageHeaders } from '../web/headers.ts';
import { html } from '../web/html.ts';
import { renderPage } from '../web/page-frame.ts';
import type { Visit } from '../web/site.ts';
import { PAGE_STYLE } from './page-assets.ts';
import { languageOf } from './text/texts.ts';
import { wordsOf } from './words.ts';

/**
 * Makes the answer for an address without a page. A visitor
 * who must not learn that a page exists gets the same answer.
 */
export function notFound(visit: Visit): Response {
  return plainAnswer(visit, 404, 'notFound');
}

/** Makes the answer for a page whose data cannot be read. */
export function unavailable(visit: Visit): Response {
  return plainAnswer(visit, 503, 'unavailable', { 'retry-after': '30' });
}

/** Makes a page with a title and a sentence, in the visitor's language. */
function plainAnswer(
  { url, request }: Visit,
  status: number,
  key: 'notFound' | 'unavailable',
  more: Readonly<Record<string, string>> = {},
): Response {
  const accepted = request.headers.get('accept-language') ?? undefined;
  const { language, text } = wordsOf(languageOf(url.searchParams.get('lang'), accepted));
  const title = text[`${key}Title`];
  const page = renderPage({
    language,
    title,
    theme: 'system',
    kind: 'status-page',
    styles: [PAGE_STYLE],
    body: html`<main id="content"><header class="page-head"><h1>${title}</h1></header>
<p>${text[key]}</p></main>`,
  });
  return new Response(page, { status, headers: { ...pageHeaders(), ...more } });
}
