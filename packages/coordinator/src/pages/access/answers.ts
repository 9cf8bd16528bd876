import { renderDocument, type Theme } from '../../web/document.ts';
import { pageHeaders } from '../../web/headers.ts';
import type { Html } from '../../web/html.ts';
import { PAGE_STYLE } from '../assets.ts';
import type { Words } from '../words.ts';

/** Where a visitor is, as far as a form of a page needs it. */
export type FormPlace = {
  /** Path of the page: `/status/main`, or '' on a domain of its own. */
  readonly path: string;
  readonly words: Words;
  readonly theme: Theme;
};

type Answer = {
  readonly title: string;
  readonly body: Html;
  /** The default is 200. */
  readonly status?: number;
  /** Values of `Set-Cookie`. */
  readonly cookies?: readonly string[];
  /** Seconds after which another try may succeed. */
  readonly retryAfterS?: number;
};

/** A page for one visitor: it is kept nowhere, and no search engine lists it. */
export function formPage({ words, theme }: FormPlace, answer: Answer): Response {
  const { title, body, status = 200, cookies = [], retryAfterS } = answer;
  const text = renderDocument({
    language: words.language,
    title,
    theme,
    kind: 'status-page status-page-form',
    styles: [PAGE_STYLE],
    body,
  });
  const headers = new Headers(pageHeaders({ cacheControl: 'private, no-store' }));
  headers.set('x-robots-tag', 'noindex');
  if (retryAfterS !== undefined) headers.set('retry-after', String(retryAfterS));
  for (const cookie of cookies) headers.append('set-cookie', cookie);
  return new Response(text, { status, headers });
}

/** Sends the visitor on after a form. @param path of this host */
export function seeOther(path: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location: path, 'cache-control': 'private, no-store' });
  for (const cookie of cookies) headers.append('set-cookie', cookie);
  return new Response(null, { status: 303, headers });
}
