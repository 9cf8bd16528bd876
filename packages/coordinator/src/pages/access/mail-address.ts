import { domainToASCII } from 'node:url';
import { emailDomain, email as emailForm } from '@svc/shared/resources/texts.ts';

/** An address of a visitor, in the one form in which it is compared, stored and written to. */
export type MailAddress = {
  /** `local@domain`: the local part as it was given, the domain as {@link MailAddress.domain}. */
  readonly address: string;
  /** In lower case, in the ASCII form of IDNA, without a final dot. */
  readonly domain: string;
};

/** Most characters of an address (RFC 5321, section 4.5.3.1, with its brackets). */
const MOST_CHARACTERS = 254;

/** Characters that a local part may have: not all relays carry others. */
const LOCAL_PART = /^[\x21-\x7e]+$/;

/**
 * Reads an address that a visitor typed. The mail goes to the form that was compared, so no two readings of one text
 * can differ.
 *
 * @returns null: it is no address, it has more than one `@`, or a domain ends with a dot
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
 * Whether the owner of an address may see a page. A sub-domain is another domain.
 *
 * @param domains as they were declared, `auth_email_domains`
 */
export function isOfDomains({ domain }: MailAddress, domains: readonly string[]): boolean {
  return domains.some((declared) => plainDomain(declared) === domain);
}

/**
 * Whether a page may write to an address.
 *
 * @param domains whose addresses it is for; null: it is for every address
 */
export function mayGetMail(address: string, domains: readonly string[] | null): boolean {
  if (domains === null) return true;
  const parsed = parseMailAddress(address);
  return parsed !== null && isOfDomains(parsed, domains);
}

/**
 * The key under which mails to an address are counted. Most services deliver `name+tag@…` and `NAME@…` to the mailbox
 * of `name@…`, and some deliver `n.a.m.e@…` there too.
 */
export function mailboxKey({ address, domain }: MailAddress): string {
  const local = address.slice(0, address.lastIndexOf('@'));
  const plain = local.split('+', 1)[0] ?? '';
  return `${(plain === '' ? local : plain.replaceAll('.', '')).toLowerCase()}@${domain}`;
}

/** Null: it is no domain name. */
function plainDomain(name: string): string | null {
  const ascii = domainToASCII(name).replace(/\.$/, '');
  return ascii === '' || emailDomain(ascii) !== null ? null : ascii;
}
