import { createHash } from 'node:crypto';
import type { StoredPage } from '../../declaration/stored.ts';
import { iconImage } from '../../store/pages/page-icons.ts';
import type { Store } from '../../store/store.ts';
import type { Visit } from '../../web/site.ts';
import { notFound } from '../plain-answers.ts';

/** Path of a page's icon below the page. */
export const ICON_PATH = '/icon';

/**
 * Headers of an image from another server. An SVG may contain scripts. If a browser opens the SVG
 * as a document, the sandbox runs no scripts, gives the document no origin, and loads nothing.
 */
const HEADERS = {
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * Serves the stored icon of a page. The caller must have checked that the visitor may read the page.
 *
 * @throws StoreError
 */
export async function iconAnswer(
  store: Pick<Store, 'read'>,
  { id, attributes: { icon: url, access_type: access } }: StoredPage,
  visit: Visit,
): Promise<Response> {
  const image = url === null ? null : await iconImage(store, id, url);
  if (image === null) return notFound(visit);
  const etag = `"${createHash('sha256').update(image.content).digest('base64url').slice(0, 20)}"`;
  const headers = {
    ...HEADERS,
    'content-type': image.contentType,
    'cache-control': access === 'public' ? 'public, max-age=3600' : 'private, no-store',
    etag,
  };
  if (visit.request.headers.get('if-none-match') === etag)
    return new Response(null, { status: 304, headers });
  return new Response(new Uint8Array(image.content), { headers });
}
