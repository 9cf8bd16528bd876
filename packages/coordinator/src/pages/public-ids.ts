import { createHmac } from 'node:crypto';
import type { Secret } from '@svc/shared/secret.ts';

/**
 * Makes an id of an incident, an update or a maintenance window for visitors: 12 characters of the base64url
 * alphabet.
 */
export type PublicIds = (kind: 'incident' | 'update' | 'window', id: number) => string;

/**
 * Makes the ids that visitors of a page see. The stored numbers would show how many incidents all workspaces
 * have. A hash without a key could be inverted by trying all numbers. A hash without the page's id would show
 * that two pages report the same incident.
 *
 * @param key 32 bytes; it must never change, because feed readers remember the ids
 */
export function publicIdsOf(key: Secret<Uint8Array>, pageId: number): PublicIds {
  return (kind, id) =>
    createHmac('sha256', key.reveal())
      .update(`svc:page ${pageId} ${kind} ${id}`)
      .digest('base64url')
      .slice(0, 12);
}
