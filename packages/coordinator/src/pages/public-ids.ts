import { createHmac } from 'node:crypto';
import type { Secret } from '@svc/shared/secret.ts';

/** Ids of a page's incidents, their updates and maintenance windows for visitors, 12 characters of the base64url alphabet. */
export type PublicIds = (kind: 'incident' | 'update' | 'window', id: number) => string;

/**
 * Makes ids for the visitors of a page. The numbers themselves would tell how many there are in all workspaces. A hash
 * without a key could be undone by counting, and one without the page would show that two pages tell of one incident.
 *
 * @param key 32 bytes, the same for ever: feeds keep the ids
 */
export function publicIdsOf(key: Secret<Uint8Array>, pageId: number): PublicIds {
  return (kind, id) =>
    createHmac('sha256', key.reveal())
      .update(`svc:page ${pageId} ${kind} ${id}`)
      .digest('base64url')
      .slice(0, 12);
}
