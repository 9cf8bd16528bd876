import { pageHeaders } from '../web/headers.ts';
import type { PageDocument } from './documents.ts';
import { iconOf } from './html/frame.ts';
import type { PageView } from './page-view.ts';

/**
 * Headers of a document of a page.
 *
 * @param staleSince the instant of its data, epoch ms, where newer data cannot be read; null: it is current
 */
export function documentHeaders(
  { kind, contentType, maxAge }: PageDocument,
  view: PageView,
  etag: string,
  staleSince: number | null,
): Readonly<Record<string, string>> {
  const isPublic = view.page.attributes.access_type === 'public';
  const { icon } = iconOf(view);
  return {
    ...pageHeaders(icon === undefined ? {} : { images: new URL(icon).origin }),
    'content-type': contentType,
    'cache-control': cacheControl(isPublic, staleSince !== null, maxAge),
    etag,
    vary: kind === 'page' ? 'accept-encoding, accept-language' : 'accept-encoding',
    ...(isPublic ? {} : { 'x-robots-tag': 'noindex' }),
    // Scripts of other sites may read what everybody may.
    ...(isPublic && kind === 'data' ? { 'access-control-allow-origin': '*' } : {}),
    ...(staleSince === null ? {} : { 'svc-stale-since': new Date(staleSince).toISOString() }),
  };
}

/**
 * Shared caches keep public documents for an hour while this service does not answer, and not for longer: a page that
 * was made private must not be shown for a day.
 */
function cacheControl(isPublic: boolean, isStale: boolean, maxAge: number): string {
  if (!isPublic) return 'private, no-store';
  const later = 'stale-while-revalidate=60, stale-if-error=3600';
  return `public, max-age=${isStale ? 5 : maxAge}, ${later}`;
}
