import { createHash } from 'node:crypto';
import type { Transaction } from '../store/store.ts';
import { Problem } from './problem.ts';

/** How long a key is remembered, ms. */
const REMEMBERED_MS = 24 * 3_600_000;

export type IdempotentRequest = { workspaceId: number; key: string; path: string; body: unknown };

/** @throws Problem when the header is not 1 to 255 printable ASCII characters. */
export function idempotencyKey(header: string | undefined): string | null {
  if (header === undefined) return null;
  if (/^[\x21-\x7e]{1,255}$/.test(header)) return header;
  throw new Problem(
    'malformed-request',
    'Idempotency-Key must be 1 to 255 printable ASCII characters without spaces',
  );
}

/**
 * The id that an earlier request with this key made, or null for a new key.
 *
 * @throws Problem `conflict` when the key was used for another request
 */
export async function madeBefore(tx: Transaction, request: IdempotentRequest): Promise<number | null> {
  const row = await tx.db
    .selectFrom('idempotency_keys')
    .select(['fingerprint', 'resource_id'])
    .where('workspace_id', '=', request.workspaceId)
    .where('key', '=', request.key)
    .executeTakeFirst();
  if (row === undefined) return null;
  if (row.fingerprint === fingerprintOf(request)) return row.resource_id;
  throw new Problem('conflict', 'this Idempotency-Key was used for another request');
}

/** In the transaction that made the resource, so that both are there or neither. */
export async function remember(
  tx: Transaction,
  request: IdempotentRequest,
  resourceId: number,
  now: number,
): Promise<void> {
  await tx.db
    .deleteFrom('idempotency_keys')
    .where('created_at', '<', now - REMEMBERED_MS)
    .execute();
  await tx.db
    .insertInto('idempotency_keys')
    .values({
      workspace_id: request.workspaceId,
      key: request.key,
      fingerprint: fingerprintOf(request),
      resource_id: resourceId,
      created_at: now,
    })
    .execute();
}

function fingerprintOf({ path, body }: IdempotentRequest): string {
  return createHash('sha256')
    .update(`${path}\n${JSON.stringify(body)}`)
    .digest('hex');
}
