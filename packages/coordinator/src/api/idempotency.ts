import { forgetRequests, keepRequest, keptRequest } from '../store/idempotency-keys.ts';
import type { Secrets } from '../store/secrets.ts';
import type { Transaction } from '../store/store.ts';
import { Problem } from './problem.ts';

/** How long a key is remembered, ms. */
const REMEMBERED_MS = 24 * 3_600_000;
/** Deleted with each new one at most: more than come in, and less than 1 ms of the scheduling thread. */
const FORGOTTEN_AT_ONCE = 200;

const PURPOSE = 'idempotency_keys.request';

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
 * @param now epoch ms
 * @param secrets bodies contain secrets: what is kept of them must not be of use to guess those
 * @throws Problem `conflict` when the key was used for another request
 */
export async function makeOnce(
  { tx, secrets, now }: { tx: Transaction; secrets: Secrets; now: number },
  request: IdempotentRequest,
  make: () => Promise<number>,
): Promise<{ id: number; isNew: boolean }> {
  const { workspaceId, key, path, body } = request;
  const text = `${path}\n${JSON.stringify(body)}`;
  const oldest = now - REMEMBERED_MS;
  await forgetRequests(tx, oldest, FORGOTTEN_AT_ONCE);
  const before = await keptRequest(tx, { workspaceId, key }, oldest);
  if (before !== null) {
    if (secrets.isFingerprint(before.fingerprint, PURPOSE, text))
      return { id: before.resourceId, isNew: false };
    throw new Problem('conflict', 'this Idempotency-Key was used for another request: take a new one');
  }
  const id = await make();
  const fingerprint = secrets.fingerprint(PURPOSE, text);
  await keepRequest(tx, { workspaceId, key, fingerprint, resourceId: id }, now);
  return { id, isNew: true };
}
