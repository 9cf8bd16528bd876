import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '@svc/shared/secret.ts';

/** Bytes of the proof: 128 bits cannot be guessed. */
const PROOF_BYTES = 16;

/**
 * The token of the link with which a recipient ends its subscription: its id, and a proof that svc made the link. It
 * works for as long as the subscription lasts, whatever becomes of the page's name, and ends nothing else.
 *
 * @param key 32 bytes
 */
export function unsubscribeToken(key: Secret<Uint8Array>, recipientId: number): string {
  return `${recipientId}-${proofOf(key, recipientId).toString('base64url')}`;
}

/** The recipient of a token; null: svc did not make the token. It takes the same time wherever proofs differ. */
export function recipientOfToken(key: Secret<Uint8Array>, token: string): number | null {
  const [, digits = '', text = ''] = /^([1-9]\d{0,14})-([\w-]{22})$/.exec(token) ?? [];
  const given = Buffer.from(text, 'base64url');
  const recipientId = Number(digits);
  const expected = proofOf(key, recipientId);
  return given.length === expected.length && timingSafeEqual(given, expected) ? recipientId : null;
}

function proofOf(key: Secret<Uint8Array>, recipientId: number): Buffer {
  const hash = createHmac('sha256', key.reveal()).update(`svc:unsubscribe:${recipientId}`).digest();
  return hash.subarray(0, PROOF_BYTES);
}
