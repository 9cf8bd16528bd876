import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '@svc/shared/secret.ts';
import type { MailPage } from '../../store/pages/page-recipients.ts';
import { originOfDomain } from '../place.ts';

/**
 * The address of a page, or of a path below it, for mails. It depends only on the declaration and the
 * settings, so no mail contains an invented `Host` header. An address on the page's own domain has the scheme
 * and the port of the service.
 *
 * @param path below the page, with a slash in front; '' for the page itself
 */
export function pageUrl(
  { slug, domain }: Pick<MailPage, 'slug' | 'domain'>,
  publicUrl: string,
  path = '',
): string {
  if (domain !== null) return new URL(path === '' ? '/' : path, originOfDomain(domain, publicUrl)).href;
  return new URL(`status/${slug}${path}`, publicUrl.replace(/\/*$/, '/')).href;
}

/** The address of {@link pageUrl} with a token in its query. */
export function tokenUrl(
  page: Pick<MailPage, 'slug' | 'domain'>,
  publicUrl: string,
  path: string,
  token: string,
): string {
  const url = new URL(pageUrl(page, publicUrl, path));
  url.searchParams.set('token', token);
  return url.href;
}

/** Length of the proof, bytes. 128 bits cannot be guessed. */
const PROOF_BYTES = 16;

/**
 * The token of the link that ends a subscription: the recipient's id, and a proof that svc made the link. It
 * is valid as long as the subscription exists, also after the page was renamed. It allows nothing else.
 *
 * @param key 32 bytes
 */
export function unsubscribeToken(key: Secret<Uint8Array>, recipientId: number): string {
  return `${recipientId}-${proofOf(key, recipientId).toString('base64url')}`;
}

/**
 * The id of a token's recipient; null: svc did not make the token. The comparison takes the same time
 * wherever the proofs differ.
 */
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
