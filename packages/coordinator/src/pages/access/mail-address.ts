import { domainToASCII } from 'node:url';
import { emailDomain, email as emailForm } from '@svc/shared/resources/texts.ts';

/** A visitor's mail address in its normal form, which is compared, stored and used for sending. */
export type MailAddress = {
  /** `local@domain`: the local part as typed, and {@link MailAddress.domain}. */
  readonly address: string;
  /** Lower case, ASCII form of IDNA, without a final dot. */
  readonly domain: string;
};

/** Maximum length of an address, characters (RFC 5321, section 4.5.3.1.3: 256 with the angle brackets). */
const MOST_CHARACTERS = 254;

/** Characters of a local part. Some relays refuse other characters. */
const LOCAL_PART = /^[\x21-\x7e]+$/;

/**
 * Parses an address that a visitor typed. svc compares the normal form, and also sends mails to it, not to
 * the typed text: a mail server could read that text as another address.
 *
 * @returns null: it is no address, it has several `@`, or its domain ends with a dot
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
 * Whether an address belongs to one of the domains. A sub-domain is another domain.
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
 * The key under which mails to one mailbox are counted. Most services deliver `name+tag@…` and `NAME@…` to
 * the mailbox of `name@…`, and some also deliver `n.a.m.e@…` there.
 */
export function mailboxKey({ address, domain }: MailAddress): string {
  const local = address.slice(0, address.lastIndexOf('@'));
  const plain = local.split('+', 1)[0] ?? '';
  return `${(plain === '' ? local : plain.replaceAll('.', '')).toLowerCase()}@${domain}`;
}

/** The normal form of a domain; null: it is no domain name. */
function plainDomain(name: string): string | null {
  const ascii = domainToASCII(name).replace(/\.$/, '');
  return ascii === '' || emailDomain(ascii) !== null ? null : ascii;
}
