import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { asciiDomainName } from '@svc/shared/address.ts';
import { codeOf } from '@svc/shared/errors.ts';
import { type Resolve, resolveAsSystem } from '../../outgoing/names.ts';
import type { DomainAnswers, ServicePlace } from './pointing.ts';

/** Time limit of one question to one name server, ms. Each server is asked twice at most. */
const QUESTION_MS = 3_000;
/** Maximum number of consecutive aliases that svc follows. */
const MOST_ALIASES = 8;

/** Errors that mean that a record does not exist. All other errors count as no answer. */
const NO_RECORD = new Set(['ENODATA', 'ENOTFOUND']);

/** Asks name servers for the aliases and addresses of a domain. Never rejects. */
export type AskDomain = (domain: string) => Promise<DomainAnswers>;

/**
 * Returns the function that asks name servers.
 *
 * @param servers `host[:port]` of name servers; left out: the
 *   name servers of this machine, whose list is read at each call
 */
export function askNameServers(servers?: readonly string[]): AskDomain {
  return async (domain) => {
    const resolver = new Resolver({ timeout: QUESTION_MS, tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    const aliases = await chainOf(resolver, domain);
    const [v4, v6] = await Promise.all([
      records(() => resolver.resolve4(domain)),
      records(() => resolver.resolve6(domain)),
    ]);
    if (aliases === 'silent' || v4 === 'silent' || v6 === 'silent') return 'silent';
    return { aliases, addresses: [...v4, ...v6] };
  };
}

async function chainOf(resolver: Resolver, domain: string): Promise<string[] | 'silent'> {
  const chain: string[] = [];
  for (let name = domain; chain.length < MOST_ALIASES; ) {
    const asked = name;
    const found = await records(() => resolver.resolveCname(asked));
    if (found === 'silent') return chain.length === 0 ? 'silent' : chain;
    const [next] = found;
    if (next === undefined || chain.includes(next)) break;
    chain.push(next);
    name = next;
  }
  return chain;
}

async function records(ask: () => Promise<string[]>): Promise<string[] | 'silent'> {
  try {
    return await ask();
  } catch (error) {
    return NO_RECORD.has(codeOf(error)) ? [] : 'silent';
  }
}

/**
 * Finds the name and addresses of the service's public URL. Never
 * rejects: if the name cannot be resolved, there are no addresses.
 */
export async function servicePlace(
  publicUrl: string,
  resolve: Resolve = resolveAsSystem,
): Promise<ServicePlace> {
  const host = new URL(publicUrl).hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (isIP(host) !== 0) return { name: null, addresses: [host] };
  const addresses = await resolve(host).catch(() => []);
  return { name: host, addresses: addresses.map(({ address }) => address) };
}

/**
 * Returns a declared domain as browsers send it, in ASCII and lower case; null: the text has no ASCII form.
 */
export function askedDomain(declared: string): string | null {
  return asciiDomainName(declared)?.toLowerCase().replace(/\.$/, '') ?? null;
}
