import { isIPv6 } from 'node:net';

/** The name and addresses to which a custom domain must point. */
export type ServicePlace = {
  /** Host of SVC_PUBLIC_URL in lower case and ASCII; null: the URL has an IP address instead of a name. */
  readonly name: string | null;
  /** IP addresses of the service. */
  readonly addresses: readonly string[];
};

/**
 * The answers of name servers about a domain.
 *
 * - `aliases`: the names to which the domain leads, one CNAME record after the other.
 * - `addresses`: the IP addresses of the last name.
 *
 * `silent`: the name servers did not answer the question about the first alias or about an address, so it is
 * unknown where the domain points.
 */
export type DomainAnswers =
  | { readonly aliases: readonly string[]; readonly addresses: readonly string[] }
  | 'silent';

/**
 * Where a domain points. `not-known`: the name servers did not answer.
 *
 * @property problem what is wrong, and what the owner of the domain can do about it
 */
export type Pointing =
  | { readonly is: 'here' }
  | { readonly is: 'elsewhere'; readonly problem: string }
  | { readonly is: 'not-known'; readonly problem: string };

/** Maximum number of addresses that a message names. */
const NAMED = 4;

/**
 * Decides whether a domain points to this service: the domain or one of its aliases is the service's name,
 * or all its addresses belong to the service. If only some addresses do, part of the visitors would reach
 * another server. A domain behind a CDN that hides the alias and has its own addresses is not verified.
 *
 * @param domain in lower case and ASCII
 */
export function pointingOf(domain: string, answers: DomainAnswers, service: ServicePlace): Pointing {
  if (answers === 'silent') {
    return {
      is: 'not-known',
      problem: `the name servers of ${domain} did not answer: svc asks again by itself`,
    };
  }
  const aliases = answers.aliases.map(plainName);
  if (service.name !== null && [domain, ...aliases].includes(service.name)) return { is: 'here' };
  const ours = new Set(service.addresses.map(plainAddress));
  const found = answers.addresses.map(plainAddress);
  const others = found.filter((address) => !ours.has(address));
  if (found.length > 0 && others.length === 0) return { is: 'here' };
  return {
    is: 'elsewhere',
    problem: `${whatIsFound(domain, found, others, aliases)}: ${whatToDo(domain, service)}`,
  };
}

function whatIsFound(
  domain: string,
  found: readonly string[],
  others: readonly string[],
  aliases: readonly string[],
): string {
  if (found.length === 0) {
    const last = aliases.at(-1);
    return last === undefined
      ? `${domain} has no address in the DNS`
      : `${domain} is an alias of ${last}, which has no address in the DNS`;
  }
  const named = others.slice(0, NAMED).join(', ');
  const more = others.length > NAMED ? ` and ${others.length - NAMED} more` : '';
  return others.length === found.length
    ? `${domain} points to ${named}${more}, which is not this service`
    : `${domain} points to this service and also to ${named}${more}`;
}

function whatToDo(domain: string, { name, addresses }: ServicePlace): string {
  const listed = addresses.slice(0, NAMED).join(', ');
  if (name === null) return `add an address record for ${domain} with ${listed}`;
  const alias = `add a CNAME record for ${domain} with ${name}`;
  return addresses.length === 0 ? alias : `${alias}, or address records with ${listed}`;
}

/** Returns a name in lower case, without its final dot. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/** Returns an IP address in its normal form, without the zone of an IPv6 address. */
function plainAddress(address: string): string {
  return isIPv6(address) ? new URL(`http://[${address.split('%', 1)[0]}]/`).hostname.slice(1, -1) : address;
}
