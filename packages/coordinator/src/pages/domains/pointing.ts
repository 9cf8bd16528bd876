import { isIPv6 } from 'node:net';

/** Where this service is reached, as a domain must point to it. */
export type ServicePlace = {
  /** Host of SVC_PUBLIC_URL, in lower case and ASCII; null: it is an address. */
  readonly name: string | null;
  /** The addresses of the service. */
  readonly addresses: readonly string[];
};

/**
 * What name servers say about a domain.
 *
 * - `aliases`: the names that it stands for, link by link (CNAME).
 * - `addresses`: those that the last name has.
 *
 * `silent`: no server answered, or none could: that says nothing about the domain.
 */
export type DomainAnswers =
  | { readonly aliases: readonly string[]; readonly addresses: readonly string[] }
  | 'silent';

/** @property problem what is missing, and what to do about it */
export type Pointing =
  | { readonly is: 'here' }
  | { readonly is: 'elsewhere'; readonly problem: string }
  | { readonly is: 'not-known'; readonly problem: string };

/** Most addresses that a text names. */
const NAMED = 4;

/**
 * Whether a domain points to this service: one of its aliases is the service's name, or all of its addresses are the
 * service's. Some addresses are not enough, because some visitors would reach somebody else.
 * A domain behind a CDN that hides the alias and has addresses of its own is not verified.
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

/** Names are compared without the final dot, and case does not matter. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

/** One text for each address. */
function plainAddress(address: string): string {
  return isIPv6(address) ? new URL(`http://[${address.split('%', 1)[0]}]/`).hostname.slice(1, -1) : address;
}
