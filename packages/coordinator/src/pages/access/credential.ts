import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { Secret } from '@svc/shared/secret.ts';
import type { StoredPage } from '../../declaration/stored.ts';

/** Who may see a page, as it is declared. A secret is opened only where it is compared. */
export type PageAccess =
  | { readonly type: 'public' }
  | { readonly type: 'password'; readonly password: Secret }
  | { readonly type: 'email-domain'; readonly domains: readonly string[] };

/** Who may see a page that was read with its secrets open. */
export function declaredAccess({ attributes }: StoredPage): PageAccess {
  const { access_type: type, password, auth_email_domains: domains } = attributes;
  switch (type) {
    case 'public':
      return { type };
    case 'password':
      // The definition demands one. An empty one would let everybody in.
      if (password === null || password === '')
        throw new TypeError('a page of access type password has none');
      return { type, password: new Secret(password) };
    case 'email-domain':
      return { type, domains: domains ?? [] };
    default:
      return type satisfies never;
  }
}

/** Makes each comparison one of two hashes that nobody can choose. */
const COMPARED_WITH = randomBytes(32);

/** Whether a text is the password. It takes the same time wherever they differ, and whatever their lengths are. */
export function isPassword(password: Secret, given: string): boolean {
  const digest = (text: string) => createHmac('sha256', COMPARED_WITH).update(text).digest();
  return timingSafeEqual(digest(password.reveal()), digest(given));
}

/**
 * The version of what lets visitors in: a session is worth something while its page has the version that it was opened
 * with. So a changed password, another list of domains or another type ends all sessions.
 *
 * It is a hash with a key: nobody who reads the stored sessions can test guesses of the password with it.
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
      // The order of the list says nothing.
      return [access.type, [...access.domains].sort()];
    default:
      return access satisfies never;
  }
}
