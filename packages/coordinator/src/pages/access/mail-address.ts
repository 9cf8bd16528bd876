import { domainToASCII } from 'node:url';
import { emailDomain, email as emailForm } from '@svc/shared/resources/texts.ts';

/**
 * A visitor's mail address in its normal form. svc compares
 * and stores the normal form, and sends mails to it.
 */
export type MailAddress = {
  /** `local@domain`: the local part as the visitor typed it, and {@link MailAddress.domain}. */
  readonly address: string;
  /** The domain in lower case, in the ASCII form of IDNA, without a final dot. */
  readonly domain: string;
};

/** Maximum length of an address, characters (RFC 5321, section 4.5.3.1.3: 256 with the angle brackets). */
const MOST_CHARACTERS = 254;

/** Characters that a local part may contain. Some relays refuse other characters. */
const LOCAL_PART = /^[\x21-\x7e]+$/;

/**
 * Parses an address that a visitor typed. svc compares the normal form and also sends mails
 * to it, not to the typed text: a mail server could read that text as another address.
 *
 * @returns null if the text is no address, is too long, has several `@`
 *   or a local part that is not ASCII, or if its domain ends with a dot
 */
export function parseMailAddress(text: string): MailAddress | null {
  const trimmed = text.trim();
  if (trimmed.length > MOST_CHARACTERS || emailForm(trimmed) !== null) return null;
  const [local = '', given = '', ...more] = trimmed.split('@');
  const domain = plainDomain(given);
  if (more.length > 0 || domain === null || given.endsWith('.') || !LOCAL_PART.test(local)) return null;
  const address = `${local}@${domain}`;
  return address.length > MOST_CHARACTERS ? null : { address, domain };
}

/**
 * Whether an address belongs to one of the domains. An address in a sub-domain of a domain does not.
 *
 * @param domains as declared in `auth_email_domains`
 */
export function isOfDomains({ domain }: MailAddress, domains: readonly string[]): boolean {
  return domains.some((declared) => plainDomain(declared) === domain);
}

/**
 * Whether a page may send mail to an address.
 *
 * @param domains mail domains to which the page may send; null: the page may send to every address
 */
export function mayGetMail(address: string, domains: readonly string[] | null): boolean {
  if (domains === null) return true;
  const parsed = parseMailAddress(address);
  return parsed !== null && isOfDomains(parsed, domains);
}

/**
 * Returns the key by which mails to one mailbox are counted: without tag, dots
 * and upper case. Most services deliver mails to `name+tag@…` and `NAME@…`
 * into the mailbox of `name@…`. Some also ignore the dots in `n.a.m.e@…`.
 */
export function mailboxKey({ address, domain }: MailAddress): string {
  const local = address.slice(0, address.lastIndexOf('@'));
  const plain = local.split('+', 1)[0] ?? '';
  return `${(plain === '' ? local : plain.replaceAll('.', '')).toLowerCase()}@${domain}`;
}

/** Returns the normal form of a domain; null: the text is no domain name. */
function plainDomain(name: string): string | null {
  const ascii = domainToASCII(name).replace(/\.$/, '');
  return ascii === '' || emailDomain(ascii) !== null ? null : ascii;
}
