import { createHmac } from 'node:crypto';
import type { Secret } from '@svc/shared/secret.ts';

/**
 * Makes the id that visitors see for an incident, an update
 * or a maintenance window: 12 characters of base64url.
 */
export type PublicIds = (kind: 'incident' | 'update' | 'window', id: number) => string;

/**
 * Returns the function that makes the ids for visitors of a page. The stored numbers would show
 * how many incidents all workspaces have. A hash without a key could be inverted by trying all
 * numbers. A hash without the page's id would show that two pages report the same incident.
 *
 * @param key 32 bytes; must never change, because feed readers remember the ids
 */
export function publicIdsOf(key: Secret<Uint8Array>, pageId: number): PublicIds {
  return (kind, id) =>
    createHmac('sha256', key.reveal())
      .update(`svc:page ${pageId} ${kind} ${id}`)
      .digest('base64url')
      .slice(0, 12);
}
