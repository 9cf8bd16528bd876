import { pageHeaders } from '../../web/headers.ts';
import { documentAt } from '../documents.ts';
import type { Place } from '../place.ts';
import { seeOther } from './answers.ts';
import type { Look } from './gate.ts';

/**
 * What a visitor gets who may not read a page: people the form, programs an answer that they understand. It is the
 * same for every path, whether there is something or not.
 *
 * @param pathname of the request
 */
export function refusal(
  { path }: Pick<Place, 'path'>,
  pathname: string,
  { access, waitMs }: Extract<Look, { is: 'refused' }>,
): Response {
  const below = pathname.slice(path.length);
  if (waitMs === 0 && documentAt(below)?.kind !== 'data') {
    const to = below === '' || below === '/' ? '' : `?to=${encodeURIComponent(below)}`;
    return seeOther(`${path}/access${to}`);
  }
  const headers = new Headers(pageHeaders({ cacheControl: 'private, no-store' }));
  headers.set('content-type', 'text/plain; charset=utf-8');
  headers.set('x-robots-tag', 'noindex');
  if (waitMs > 0) headers.set('retry-after', String(Math.ceil(waitMs / 1_000)));
  // Feed readers then ask for the password, as their users know it.
  else if (access?.type === 'password')
    headers.set('www-authenticate', 'Basic realm="status page", charset="UTF-8"');
  return new Response('This status page is private.\n', { status: waitMs > 0 ? 429 : 401, headers });
}
