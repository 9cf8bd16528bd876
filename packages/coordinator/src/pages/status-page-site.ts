import { messageOf } from '@svc/shared/errors.ts';
import type { StoredPage } from '../declaration/stored.ts';
import type { PageName } from '../store/pages/shown-pages.ts';
import { pageHeaders } from '../web/headers.ts';
import type { Site, Visit } from '../web/site.ts';
import { documentAt, type PageDocument } from './documents.ts';
import { PageCache, type PageCacheParts, type RenderedDocument } from './page-cache.ts';
import { addressOf, originOfDomain, type Place } from './place.ts';
import { notFound, unavailable } from './plain-answers.ts';
import { languageOf } from './text/texts.ts';
import { wordsOf } from './words.ts';

/** A form, or other content below a status page, that is not made from the view of the page. */
export type PageRoute = {
  readonly method: 'GET' | 'POST';
  /** Path below the page, like `/access`. */
  readonly path: string;
  /**
   * Answers a request. The handler itself must check whether
   * the visitor may read the page: the caller does not.
   */
  handle(page: StoredPage, visit: Visit, place: Place): Promise<Response>;
};

export type StatusPagesParts = PageCacheParts & {
  /** The value of SVC_PUBLIC_URL. */
  readonly publicUrl: string;
  readonly mayRead: MayRead;
  /**
   * Finds the slug of the page that is served under a host; null: the host serves
   * no page. The function is called only for hosts other than the service's own.
   */
  readonly slugOfHost: (host: string) => Promise<string | null>;
  readonly routes: readonly PageRoute[];
};

/** A request for a status page, or for a path below it. */
type Target = {
  readonly name: PageName;
  readonly origin: string;
  readonly base: string;
  readonly path: string;
};

/**
 * Serves each status page under `/status/{slug}` on the service's own hosts, and under the page's
 * own domain. Under its own domain, only this page is served, and neither the API nor the dashboard.
 */
export function createStatusPages(parts: StatusPagesParts): Site {
  const cache = new PageCache(parts);
  return {
    async answer(visit) {
      try {
        const target = await targetOf(visit, parts);
        return target === null ? null : await answerAt(target, visit, parts, cache);
      } catch (error) {
        parts.log.error(
          { error: messageOf(error), requestId: visit.requestId },
          'answering a request for a status page failed',
        );
        return unavailable(visit);
      }
    },
  };
}

async function targetOf(visit: Visit, { publicUrl, slugOfHost }: StatusPagesParts): Promise<Target | null> {
  const { pathname } = visit.url;
  if (visit.isOwnHost) {
    const [, slug, path = ''] = /^\/status\/([a-z0-9-]{1,256})(\/.*)?$/.exec(pathname) ?? [];
    if (slug === undefined) return null;
    return { name: { slug }, origin: new URL(publicUrl).origin, base: `/status/${slug}`, path };
  }
  const slug = await slugOfHost(visit.host);
  if (slug === null) return null;
  const origin = originOfDomain(visit.host, publicUrl);
  return { name: { slug }, origin, base: '', path: pathname === '/' ? '' : pathname };
}

async function answerAt(
  { name, origin, base, path }: Target,
  visit: Visit,
  { mayRead, routes }: StatusPagesParts,
  cache: PageCache,
): Promise<Response> {
  const document = documentAt(path);
  const language = languageOf(
    visit.url.searchParams.get('lang'),
    // `Accept-Language` is ignored for documents for programs: it would be the language of the program's
    // system, which no visitor chose.
    document?.kind === 'data' ? undefined : (visit.request.headers.get('accept-language') ?? undefined),
  );
  const found = await cache.findPage(name);
  const words = wordsOf(language);
  if (found === 'unavailable') return unavailable(visit);
  if (found === 'unknown') return notFound(visit);
  const { page } = found.kept.view;
  const place: Place = { origin, path: base, words, staleSince: found.staleSince };
  if (path === '/') return movedTo(addressOf(place));
  const ofPath = routes.filter((route) => route.path === path);
  const route = ofPath.find(({ method }) => method === visit.method);
  if (route !== undefined) return route.handle(page, visit, place);
  if (visit.method !== 'GET') return wrongMethod(ofPath, document);
  const refusal = await mayRead(page, visit, place);
  if (refusal !== null) return refusal;
  const rendered = document === null ? null : await cache.renderDocument(found.kept, document, path, place);
  if (rendered === null) return notFound(visit);
  return answerWith(rendered, visit.request.headers);
}

function answerWith({ headers, etag, plain, gzipped }: RenderedDocument, asked: Headers): Response {
  if (isKnown(asked.get('if-none-match'), etag)) return new Response(null, { status: 304, headers });
  const coding = asked.get('accept-encoding') ?? '';
  if (!/\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(coding)) return new Response(plain, { headers });
  return new Response(gzipped, { headers: { ...headers, 'content-encoding': 'gzip' } });
}

/** Whether `If-None-Match` contains the tag (RFC 9110, section 13.1.2: weak comparison). */
function isKnown(header: string | null, tag: string): boolean {
  if (header === null) return false;
  const plain = (text: string) => text.trim().replace(/^W\//, '');
  return header.split(',').some((known) => known.trim() === '*' || plain(known) === plain(tag));
}

function movedTo(address: string): Response {
  return new Response(null, { status: 308, headers: { ...pageHeaders(), location: address } });
}

function wrongMethod(routes: readonly PageRoute[], document: PageDocument | null): Response {
  const methods = routes.map(({ method }) => method);
  const allow = document === null ? methods : ['GET', 'HEAD', ...methods];
  const status = allow.length === 0 ? 404 : 405;
  return new Response(null, { status, headers: { ...pageHeaders(), allow: allow.join(', ') } });
}

/**
 * Decides whether a visitor may read a page and all its documents.
 *
 * @returns null: the visitor may read them; otherwise the answer that the visitor gets instead
 */
export type MayRead = (page: StoredPage, visit: Visit, place: Place) => Promise<Response | null>;
