import type { Secret } from '@svc/shared/secret.ts';
import type { Recipient } from '../../store/pages/page-recipients.ts';
import { credentialVersion, type PageAccess } from '../access/credential.ts';
import { mayGetMail } from '../access/mail-address.ts';

/** A page, and who may see it as it is declared now. */
export type EntitlingPage = { readonly id: number; readonly access: PageAccess };

/**
 * Whether a subscriber may still get the news of a page: who could not read them there gets none by mail.
 *
 * - A page that everybody may see writes to everybody.
 * - A page with a password writes to those who subscribed while it had this password.
 * - A page for mail domains writes to addresses of these domains, whose mailbox opens the page too.
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
