import { createHmac, timingSafeEqual } from 'node:crypto';
import { type Html, html } from './html.ts';

/** Name of the field that carries the token. */
export const FORM_TOKEN = 'form_token';

/**
 * The token of the forms of one session. Only a page that could read the cookie's owner's pages knows it.
 *
 * @param seed the secret of the session, or of the visitor's cookie before a login
 */
export function formToken(seed: string): string {
  return createHmac('sha256', seed).update('svc form').digest('base64url');
}

/** Whether a form carries the token of this seed. It takes the same time wherever they differ. */
export function isFormToken(seed: string, given: string): boolean {
  const expected = Buffer.from(formToken(seed));
  const sent = Buffer.from(given);
  return sent.length === expected.length && timingSafeEqual(sent, expected);
}

/** The hidden field of a form. */
export function formTokenField(seed: string): Html {
  return html`<input type="hidden" name="${FORM_TOKEN}" value="${formToken(seed)}">`;
}

/**
 * Whether a browser sent this request from a page of the same origin. A request that says nothing about its origin (an
 * old browser, a program) passes: the token decides about it.
 */
export function isFromOwnPage({ headers }: Request): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site === 'same-origin';
  const origin = headers.get('origin');
  return origin === null || URL.parse(origin)?.host === headers.get('host')?.toLowerCase();
}
