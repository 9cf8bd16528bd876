import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Secret } from '@svc/shared/secret.ts';
import type { StoredPage } from '../../declaration/stored.ts';
import type { Recipient } from '../../store/pages/page-recipients.ts';
import { mayGetMail } from './mail-address.ts';

/** The declared rule that decides who may see a page. */
export type PageAccess =
  | { readonly type: 'public' }
  | { readonly type: 'password'; readonly password: Secret }
  | { readonly type: 'email-domain'; readonly domains: readonly string[] };

/**
 * Returns the declared access to a page.
 *
 * @param page read from the database, with its secrets decrypted
 * @throws TypeError when a page of access type `password` has no password
 */
export function declaredAccess({ attributes }: StoredPage): PageAccess {
  const { access_type: type, password, auth_email_domains: domains } = attributes;
  switch (type) {
    case 'public':
      return { type };
    case 'password':
      // The definition requires a password. An empty password would let everybody in.
      if (password === null || password === '')
        throw new TypeError('a page of access type password has none');
      return { type, password: new Secret(password) };
    case 'email-domain':
      return { type, domains: domains ?? [] };
    default:
      return type satisfies never;
  }
}

/** Key of the hashes that are compared. It is random, so no visitor can choose a hash. */
const COMPARED_WITH = randomBytes(32);

/** Whether a text is the password. The time of the comparison does not depend on where the texts differ. */
export function isPassword(password: Secret, given: string): boolean {
  const digest = (text: string) => createHmac('sha256', COMPARED_WITH).update(text).digest();
  return timingSafeEqual(digest(password.reveal()), digest(given));
}

/**
 * Makes the version of the access to a page from the page's id, its access type, and its password or mail
 * domains. A session stores the version at which it was opened, and is valid while the page still has this
 * version. So a new password, a new list of domains or a new access type ends all sessions of the page.
 *
 * The version is a keyed hash. So a person who reads the stored sessions cannot test guesses at the password.
 *
 * @param key 32 bytes
 */
export function credentialVersion(key: Secret<Uint8Array>, pageId: number, access: PageAccess): string {
  const hash = createHmac('sha256', key.reveal());
  return hash.update(JSON.stringify([pageId, ...partsOf(access)])).digest('base64url');
}

function partsOf(access: PageAccess): readonly unknown[] {
  switch (access.type) {
    case 'public':
      return [access.type];
    case 'password':
      return [access.type, access.password.reveal()];
    case 'email-domain':
      // The order of the domains has no meaning.
      return [access.type, [...access.domains].sort()];
    default:
      return access satisfies never;
  }
}

/** The id of a page that sends mails, and its access as it is declared now. */
export type EntitlingPage = { readonly id: number; readonly access: PageAccess };

/**
 * Whether a subscriber may still get the news of a page by mail.
 * Subscribers who may no longer read the page get no news.
 *
 * - A public page writes to every subscriber.
 * - A page with a password writes to people who subscribed while it had this password.
 * - A page for mail domains writes to addresses of these domains: their owners may read the page.
 *
 * @param key 32 bytes
 */
export function isEntitled(
  { id, access }: EntitlingPage,
  key: Secret<Uint8Array>,
  { address, credential }: Pick<Recipient, 'address' | 'credential'>,
): boolean {
  switch (access.type) {
    case 'public':
      return true;
    case 'password':
      return credential === credentialVersion(key, id, access);
    case 'email-domain':
      return mayGetMail(address, access.domains);
    default:
      return access satisfies never;
  }
}
