import { wholeMs } from '../queries.ts';
import type { Transaction } from '../store.ts';

/** The result of a request with an `Idempotency-Key`. */
export type KeptRequest = {
  readonly workspaceId: number;
  readonly key: string;
  /** Hash of the request's path and body. */
  readonly fingerprint: string;
  readonly resourceId: number;
};

/**
 * The result of an earlier request with the same key. Null: no such
 * request was stored at `since` (epoch ms) or later.
 */
export async function keptRequest(
  { db }: Transaction,
  { workspaceId, key }: Pick<KeptRequest, 'workspaceId' | 'key'>,
  since: number,
): Promise<Pick<KeptRequest, 'fingerprint' | 'resourceId'> | null> {
  const row = await db
    .selectFrom('idempotency_keys')
    .select(['fingerprint', 'resource_id as resourceId'])
    .where('workspace_id', '=', workspaceId)
    .where('key', '=', key)
    .where('created_at', '>=', since)
    .executeTakeFirst();
  return row ?? null;
}

/**
 * Stores a request. It replaces an older request with the same key.
 *
 * @param now epoch ms
 */
export async function keepRequest({ db }: Transaction, request: KeptRequest, now: number): Promise<void> {
  const kept = {
    fingerprint: request.fingerprint,
    resource_id: request.resourceId,
    created_at: wholeMs(now),
  };
  await db
    .insertInto('idempotency_keys')
    .values({ workspace_id: request.workspaceId, key: request.key, ...kept })
    .onConflict((conflict) => conflict.columns(['workspace_id', 'key']).doUpdateSet(kept))
    .execute();
}

/** Deletes at most `limit` requests that are older than `oldest` (epoch ms), oldest first. */
export async function forgetRequests({ db }: Transaction, oldest: number, limit: number): Promise<void> {
  await db
    .deleteFrom('idempotency_keys')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('workspace_id', 'key'),
        'in',
        selectFrom('idempotency_keys as old')
          .select(['old.workspace_id', 'old.key'])
          .where('old.created_at', '<', oldest)
          .orderBy('old.created_at')
          .limit(limit)
          .$asTuple('workspace_id', 'key'),
      ),
    )
    .execute();
}
