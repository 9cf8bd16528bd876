import type { Secrets } from '../store/secrets.ts';
import type { Transaction } from '../store/store.ts';
import { Problem } from './problem.ts';

/** How long a key is remembered, ms. */
const REMEMBERED_MS = 24 * 3_600_000;

/** A request with a key; the same one may be sent again and makes nothing twice. */
export type IdempotentRequest = {
  readonly workspaceId: number;
  readonly key: string;
  readonly path: string;
  readonly body: unknown;
};

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
 * Runs `make`, which answers the id of what it made, unless an earlier request with this key has made
 * it. Both in the transaction that is given, so that what is made and its key are there or neither.
 *
 * @param secrets bodies contain secrets: what is kept of them must not be of use to guess those
 * @throws Problem `conflict` when the key was used for another request
 */
export async function makeOnce(
  { tx, secrets, now }: { tx: Transaction; secrets: Secrets; now: number },
  request: IdempotentRequest,
  make: () => Promise<number>,
): Promise<{ id: number; isNew: boolean }> {
  const { workspaceId, key, path, body } = request;
  const fingerprint = secrets.fingerprint('idempotency_keys.request', `${path}\n${JSON.stringify(body)}`);
  await forgetOld(tx, now);
  const before = await tx.db
    .selectFrom('idempotency_keys')
    .select(['fingerprint', 'resource_id'])
    .where('workspace_id', '=', workspaceId)
    .where('key', '=', key)
    .executeTakeFirst();
  if (before !== undefined) {
    if (before.fingerprint === fingerprint) return { id: before.resource_id, isNew: false };
    throw new Problem('conflict', 'this Idempotency-Key was used for another request: take a new one');
  }
  const id = await make();
  await tx.db
    .insertInto('idempotency_keys')
    .values({ workspace_id: workspaceId, key, fingerprint, resource_id: id, created_at: now })
    .execute();
  return { id, isNew: true };
}

async function forgetOld({ db }: Transaction, now: number): Promise<void> {
  await db
    .deleteFrom('idempotency_keys')
    .where('created_at', '<', now - REMEMBERED_MS)
    .execute();
}
