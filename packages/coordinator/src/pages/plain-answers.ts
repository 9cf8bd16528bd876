import { pageHeaders } from '../web/headers.ts';
import type { Visit } from '../web/site.ts';
import { notFoundPage, unavailablePage } from './html/plain.ts';
import { languageOf } from './text/languages.ts';
import { wordsOf } from './words.ts';

/** For an address without a page, and for pages that the visitor must not know of: the answers are the same. */
export function notFound(visit: Visit): Response {
  return plain(visit, 404, notFoundPage);
}

/** For a page whose data cannot be read. */
export function unavailable(visit: Visit): Response {
  return plain(visit, 503, unavailablePage, { 'retry-after': '30' });
}

function plain(
  { url, request }: Visit,
  status: number,
  render: typeof notFoundPage,
  more: Readonly<Record<string, string>> = {},
): Response {
  const accepted = request.headers.get('accept-language') ?? undefined;
  const words = wordsOf(languageOf(url.searchParams.get('lang'), accepted));
  return new Response(render(words), { status, headers: { ...pageHeaders(), ...more } });
}
