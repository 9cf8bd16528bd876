import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';
import type { Resolve } from '../../outgoing/names.ts';
import type { CheckedDomain, ServedDomain } from '../../store/pages/page-domains.ts';
import type { Store } from '../../store/store.ts';
import { DomainChecks } from './checks.ts';
import { DomainDirectory } from './directory.ts';
import { type AskDomain, askNameServers, servicePlace } from './lookup.ts';
import type { ServicePlace } from './pointing.ts';

/** The custom domains of status pages. */
export interface PageDomains {
  /** The page that is served under a host; null: none is. @throws StoreError */
  find(host: string): Promise<ServedDomain | null>;
  /** Checks where the domain of a page points. @throws StoreError */
  check(pageId: number, declared: string): Promise<CheckedDomain>;
  /** Where domains must point. */
  service(): Promise<ServicePlace>;
}

type Parts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  /** Asks about domains; left out: the name servers of this machine. */
  readonly ask?: AskDomain;
  /** Finds the addresses of this service; left out: as everywhere on this machine. */
  readonly resolve?: Resolve;
};

export function domainChecksOf(parts: Parts, publicUrl: string): DomainChecks {
  const { ask = askNameServers(), resolve } = parts;
  return new DomainChecks({ ...parts, ask, service: () => servicePlace(publicUrl, resolve) });
}

/** What serving pages and the API need of custom domains. */
export function createPageDomains(parts: Parts, publicUrl: string): PageDomains {
  const directory = new DomainDirectory(parts);
  const checks = domainChecksOf(parts, publicUrl);
  return {
    find: (host) => directory.find(host),
    check: (pageId, declared) => checks.check(pageId, declared),
    service: () => servicePlace(publicUrl, parts.resolve),
  };
}
