import type { Clock } from '@svc/shared/clock.ts';
import { messageOf } from '@svc/shared/errors.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Resolve } from '../../outgoing/names.ts';
import { StoreError } from '../../store/errors.ts';
import { type CheckedDomain, pageOfDomain, type ServedDomain } from '../../store/pages/page-domains.ts';
import type { Store } from '../../store/store.ts';
import { RecentMap } from '../../web/recent-map.ts';
import type { Site } from '../../web/site.ts';
import { type BoundedWait, boundedWait } from '../bounded-wait.ts';
import { DomainChecks } from './domain-checks.ts';
import { type AskDomain, askedDomain, askNameServers, servicePlace } from './domain-lookup.ts';
import type { ServicePlace } from './pointing.ts';

/** The custom domains of status pages, for the API and for the server of the pages. */
export interface PageDomains {
  /**
   * Finds the page that is served under a host; null: the host serves no page.
   *
   * @throws StoreError
   */
  findPageOf(host: string): Promise<ServedDomain | null>;
  /**
   * Checks now where the domain of a page points.
   *
   * @throws StoreError
   */
  checkDomain(pageId: number, declared: string): Promise<CheckedDomain>;
  /** Finds the name and addresses to which custom domains must point. */
  servicePlace(): Promise<ServicePlace>;
}

type Parts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Asks name servers about a domain. The default asks the name servers of this machine. */
  readonly ask?: AskDomain;
  /** Resolves the name of the service. The default is the resolver of this machine. */
  readonly resolve?: Resolve;
};

export function domainChecksOf(parts: Parts, publicUrl: string): DomainChecks {
  const { ask = askNameServers(), resolve } = parts;
  return new DomainChecks({ ...parts, ask, service: () => servicePlace(publicUrl, resolve) });
}

export function createPageDomains(parts: Parts, publicUrl: string): PageDomains {
  const directory = new DomainDirectory(parts);
  const checks = domainChecksOf(parts, publicUrl);
  return {
    findPageOf: (host) => directory.findPageOf(host),
    checkDomain: (pageId, declared) => checks.checkDomain(pageId, declared),
    servicePlace: () => servicePlace(publicUrl, parts.resolve),
  };
}

/**
 * How long an answer of the database about a domain is reused, ms. While the database can be read, a change
 * takes effect within this time.
 */
const KEPT_MS = 2_000;
/**
 * Maximum number of remembered hosts without a page. The
 * number is bounded because anybody can send any `Host`.
 */
const MOST_UNKNOWN = 1_000;
/**
 * Maximum number of remembered domains with a page. They are
 * verified domains only, so strangers cannot push them out.
 */
const MOST_SERVED = 10_000;

/** The last answer of the database about a domain. `at`: when the database was last asked, monotonic ms. */
type Kept = { readonly at: number; readonly found: ServedDomain | null };

/** A read of the database that all requests for one domain share. */
type SharedRead = BoundedWait & {
  /** The outcome of the read; null: the read has not ended. */
  result: { readonly found: ServedDomain | null } | { readonly error: unknown } | null;
};

/**
 * Finds the published page that is served under a verified domain. While the
 * database cannot be read, the last answer about a domain with a page stays valid.
 */
export class DomainDirectory {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #served = new RecentMap<string, Kept>(MOST_SERVED);
  readonly #unknown = new RecentMap<string, Kept>(MOST_UNKNOWN);
  readonly #reads = new Map<string, SharedRead>();

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Finds the page that is served under a host; null: the host serves no page.
   *
   * @param host name in a `Host` header, without its port
   * @throws StoreError when the database cannot be read, unless the last answer named a page
   */
  async findPageOf(host: string): Promise<ServedDomain | null> {
    const domain = askedDomain(host);
    if (domain === null || domain === '' || domain.length > 253) return null;
    const known = this.#served.get(domain) ?? this.#unknown.get(domain);
    if (known !== undefined && this.#clock.monotonic() - known.at < KEPT_MS) return known.found;
    const read = this.#reads.get(domain) ?? this.#beginRead(domain);
    const last = this.#served.get(domain);
    await (last === undefined ? read.long : read.short);
    const { result } = read;
    if (result !== null && 'found' in result) return result.found;
    if (last !== undefined) return last.found;
    if (result !== null) throw result.error;
    throw new StoreError('store-busy', `the database did not answer in time whether ${domain} has a page`);
  }

  #beginRead(domain: string): SharedRead {
    const ended = this.#readPageOf(domain).then(
      (found) => {
        read.result = { found };
      },
      (error: unknown) => {
        read.result = { error };
      },
    );
    const read: SharedRead = { ...boundedWait(ended, this.#clock), result: null };
    this.#reads.set(domain, read);
    return read;
  }

  async #readPageOf(domain: string): Promise<ServedDomain | null> {
    const at = this.#clock.monotonic();
    try {
      const found = await pageOfDomain(this.#store, domain);
      const [kept, other] = found === null ? [this.#unknown, this.#served] : [this.#served, this.#unknown];
      kept.set(domain, { at, found });
      other.delete(domain);
      return found;
    } catch (error) {
      const last = this.#served.get(domain);
      if (last !== undefined) this.#served.set(domain, { ...last, at });
      throw error;
    } finally {
      this.#reads.delete(domain);
    }
  }
}

/**
 * Path that a proxy asks before it gets a certificate for a
 * domain: `/custom-domains/ask?domain=status.example.com`.
 */
const PATH = '/custom-domains/ask';

/**
 * Tells a proxy whether a page is served under a domain: 200 if one is, 404 if none
 * is, 503 if the database cannot be read. Caddy calls such an endpoint `ask`.
 * Without this endpoint, anybody could make the proxy get certificates for any name.
 */
export function createAskSite({
  domains,
  log,
}: {
  readonly domains: PageDomains;
  readonly log: Logger;
}): Site {
  return {
    async answer({ url, method, isOwnHost }) {
      if (!isOwnHost || method !== 'GET' || url.pathname !== PATH) return null;
      const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };
      try {
        const found = await domains.findPageOf(url.searchParams.get('domain') ?? '');
        const text =
          found === null ? 'No page is served under this domain.\n' : 'A page is served under this domain.\n';
        return new Response(text, { status: found === null ? 404 : 200, headers });
      } catch (error) {
        log.error({ error: messageOf(error) }, 'a proxy asked for a custom domain, and svc cannot answer');
        return new Response('svc cannot answer now.\n', { status: 503, headers });
      }
    },
  };
}
