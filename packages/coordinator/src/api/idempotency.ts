import type { Clock } from '@svc/shared/clock.ts';
import { forgetRequests, keepRequest, keptRequest } from '../store/access/idempotency-keys.ts';
import type { Secrets } from '../store/declaration/secrets.ts';
import type { Transaction } from '../store/store.ts';
import { type ApiRequest, workspaceOf } from './endpoint.ts';
import { Problem } from './problem.ts';

/** How long a key is remembered, ms. */
const REMEMBERED_MS = 24 * 3_600_000;
/**
 * Most keys that are deleted with each new one: more than come in, and less than 1 ms of the scheduling
 * thread.
 */
const FORGOTTEN_AT_ONCE = 200;

const PURPOSE = 'idempotency_keys.request';

/** A creation. One with a key may be repeated and creates nothing twice. */
type Creation = {
  readonly workspaceId: number;
  /** See {@link idempotencyKey}; null: the request has none. */
  readonly key: string | null;
  readonly path: string;
  readonly body: unknown;
};

/** @throws Problem when the header is not 1 to 255 printable ASCII characters */
export function idempotencyKey(header: string | undefined): string | null {
  if (header === undefined) return null;
  if (/^[\x21-\x7e]{1,255}$/.test(header)) return header;
  throw new Problem(
    'malformed-request',
    'Idempotency-Key must be 1 to 255 printable ASCII characters without spaces',
  );
}

/**
 * Runs `make`, which returns the id of the object that it creates, unless an earlier request with this key
 * has created it. A request without a key always does. Both happen in the given transaction, so that the object and its key exist together or not
 * at all.
 *
 * @param now epoch ms
 * @param secrets keyed digests, because bodies contain secrets: the stored digest must not help to guess them
 * @throws Problem `conflict` when the key was used for another request
 */
export async function makeOnce(
  { tx, secrets, now }: { tx: Transaction; secrets: Secrets; now: number },
  request: Creation,
  make: () => Promise<number>,
): Promise<{ id: number; isNew: boolean }> {
  const { workspaceId, key, path, body } = request;
  if (key === null) return { id: await make(), isNew: true };
  const text = `${path}\n${JSON.stringify(body)}`;
  const oldest = now - REMEMBERED_MS;
  await forgetRequests(tx, oldest, FORGOTTEN_AT_ONCE);
  const before = await keptRequest(tx, { workspaceId, key }, oldest);
  if (before !== null) {
    if (secrets.isFingerprint(before.fingerprint, PURPOSE, text))
      return { id: before.resourceId, isNew: false };
    throw new Problem('conflict', 'this Idempotency-Key was used for another request: use a new key');
  }
  const id = await make();
  const fingerprint = secrets.fingerprint(PURPOSE, text);
  await keepRequest(tx, { workspaceId, key, fingerprint, resourceId: id }, now);
  return { id, isNew: true };
}

/** Creates an object in the transaction, see {@link createsOnce}. @param create returns the id of the object */
type Creating = (tx: Transaction, create: () => Promise<number>) => Promise<{ id: number; isNew: boolean }>;

/**
 * The way in which a request creates an object: once for each Idempotency-Key, together with its line of the
 * audit trail.
 *
 * @param path of the collection
 * @param body what the key stands for, beside the path: the content of the object
 * @throws Problem when the header is not a key
 */
export function createsOnce(
  request: Pick<ApiRequest, 'token' | 'header' | 'audit'>,
  { path, body }: { readonly path: string; readonly body: unknown },
  { secrets, clock }: { readonly secrets: Secrets; readonly clock: Clock },
): Creating {
  const { audit } = request;
  const creation = {
    workspaceId: workspaceOf(request),
    key: idempotencyKey(request.header('idempotency-key')),
    path,
    body,
  };
  return (tx, create) =>
    makeOnce({ tx, secrets, now: clock.wall() }, creation, async () => {
      const id = await create();
      await audit.writeLine(tx, id);
      return id;
    });
}
