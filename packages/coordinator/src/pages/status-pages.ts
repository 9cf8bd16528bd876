import { messageOf } from '@svc/shared/errors.ts';
import type { StoredPage } from '../configuration/stored.ts';
import type { PageName } from '../store/shown-pages.ts';
import { pageHeaders } from '../web/headers.ts';
import type { Site, Visit } from '../web/site.ts';
import { documentAt, type PageDocument } from './documents.ts';
import { iconOf } from './html/frame.ts';
import type { MayRead } from './may-read.ts';
import { type FoundPage, PageCache, type PageCacheParts } from './page-cache.ts';
import { addressOf, originOfDomain, type Place } from './place.ts';
import { notFound, unavailable } from './plain-answers.ts';
import { type RenderedDocument, renderedOnce } from './rendered.ts';
import { languageOf } from './text/languages.ts';
import { wordsOf } from './words.ts';

/** A form or another page below a status page that is not made of its view. */
export type PageRoute = {
  readonly method: 'GET' | 'POST';
  /** Path below the page, like `/access`. */
  readonly path: string;
  /** The caller has not asked whether the visitor may read the page. */
  handle(page: StoredPage, visit: Visit, place: Place): Promise<Response>;
};

export type StatusPagesParts = PageCacheParts & {
  /** SVC_PUBLIC_URL. */
  readonly publicUrl: string;
  readonly mayRead: MayRead;
  /**
   * The custom domain, as its page declares it, that a host other than this service's own stands for; null: no page is
   * served under the host.
   */
  readonly servedDomain: (host: string) => Promise<string | null>;
  readonly routes: readonly PageRoute[];
};

/** A request for a page: its name, and the path below it. */
type Target = {
  readonly name: PageName;
  readonly origin: string;
  readonly base: string;
  readonly path: string;
};

/** Serves the status pages: under `/status/{slug}` of this service's own hosts, and under their domains. */
export function createStatusPages(parts: StatusPagesParts): Site {
  const cache = new PageCache(parts);
  return {
    async answer(visit) {
      try {
        const target = await targetOf(visit, parts);
        return target === null ? null : await answerAt(target, visit, parts, cache);
      } catch (error) {
        parts.log.error({ error: messageOf(error), requestId: visit.requestId }, 'a status page failed');
        return unavailable(visit);
      }
    },
  };
}

async function targetOf(visit: Visit, { publicUrl, servedDomain }: StatusPagesParts): Promise<Target | null> {
  const { pathname } = visit.url;
  if (visit.isOwnHost) {
    const match = /^\/status\/([a-z0-9-]{1,256})(\/.*)?$/.exec(pathname);
    if (match === null) return null;
    const slug = match[1] ?? '';
    return {
      name: { slug },
      origin: new URL(publicUrl).origin,
      base: `/status/${slug}`,
      path: match[2] ?? '',
    };
  }
  const customDomain = await servedDomain(visit.host);
  if (customDomain === null) return null;
  const origin = originOfDomain(visit.host, publicUrl);
  return { name: { customDomain }, origin, base: '', path: pathname === '/' ? '' : pathname };
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
    // Programs get the same texts whoever runs them.
    document?.kind === 'data' ? undefined : (visit.request.headers.get('accept-language') ?? undefined),
  );
  const found = await cache.find(name);
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
  const rendered = document === null ? null : await renderedOnce(found.kept, document, path, place);
  if (document === null || rendered === null) return notFound(visit);
  return sent(document, rendered, found, visit);
}

function sent(
  { kind, contentType, maxAge }: PageDocument,
  rendered: RenderedDocument,
  { kept, staleSince }: FoundPage,
  { request }: Visit,
): Response {
  const { page } = kept.view;
  const isPublic = page.attributes.access_type === 'public';
  const icon = iconOf(kept.view).icon;
  const headers: Record<string, string> = {
    ...pageHeaders(icon === undefined ? {} : { images: new URL(icon).origin }),
    'content-type': contentType,
    'cache-control': cacheControl(isPublic, staleSince !== null, maxAge),
    etag: rendered.etag,
    vary: kind === 'page' ? 'accept-encoding, accept-language' : 'accept-encoding',
    ...(isPublic ? {} : { 'x-robots-tag': 'noindex' }),
    // Scripts of other sites may read what everybody may.
    ...(isPublic && kind === 'data' ? { 'access-control-allow-origin': '*' } : {}),
    ...(staleSince === null ? {} : { 'svc-stale-since': new Date(staleSince).toISOString() }),
  };
  if (isKnown(request.headers.get('if-none-match'), rendered.etag)) {
    return new Response(null, { status: 304, headers });
  }
  if (!/\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(request.headers.get('accept-encoding') ?? '')) {
    return new Response(rendered.plain, { headers });
  }
  return new Response(rendered.gzipped, { headers: { ...headers, 'content-encoding': 'gzip' } });
}

function cacheControl(isPublic: boolean, isStale: boolean, maxAge: number): string {
  if (!isPublic) return 'private, no-store';
  const later = 'stale-while-revalidate=60, stale-if-error=86400';
  return `public, max-age=${isStale ? 5 : maxAge}, ${later}`;
}

/** Whether `If-None-Match` names the tag (RFC 9110, section 13.1.2: weak comparison). */
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
