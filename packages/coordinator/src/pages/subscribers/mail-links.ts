import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '@svc/shared/secret.ts';
import type { MailPage } from '../../store/pages/page-recipients.ts';
import { originOfDomain } from '../place.ts';

/**
 * Makes the address of a page, or of a path below the page, for mails. The address
 * follows from the declaration and the settings, so an invented `Host` header cannot get
 * into a mail. On the page's own domain, scheme and port are those of the service's URL.
 *
 * @param path path below the page, with a slash in front; '' for the page itself
 */
export function pageUrl(
  { slug, domain }: Pick<MailPage, 'slug' | 'domain'>,
  publicUrl: string,
  path = '',
): string {
  if (domain !== null) return new URL(path === '' ? '/' : path, originOfDomain(domain, publicUrl)).href;
  return new URL(`status/${slug}${path}`, publicUrl.replace(/\/*$/, '/')).href;
}

/** Makes the address of {@link pageUrl} with a token in its query. */
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

/** Length of the proof in a token, bytes. 128 bits cannot be guessed. */
const PROOF_BYTES = 16;

/**
 * Makes the token of the link that ends a subscription: the recipient's id,
 * and a proof that svc made the token. The token is valid as long as the
 * subscription exists, even if the page is renamed. It allows nothing else.
 *
 * @param key 32 bytes
 */
export function unsubscribeToken(key: Secret<Uint8Array>, recipientId: number): string {
  return `${recipientId}-${proofOf(key, recipientId).toString('base64url')}`;
}

/**
 * Returns the recipient's id in a token; null: svc did not make the token.
 * The comparison of the proofs takes the same time wherever they differ.
 *
 * @param key 32 bytes
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
