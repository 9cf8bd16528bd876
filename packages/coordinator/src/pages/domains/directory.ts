import type { Clock } from '@svc/shared/clock.ts';
import { pageOfDomain, type ServedDomain } from '../../store/page-domains.ts';
import type { Store } from '../../store/store.ts';
import { askedDomain } from './lookup.ts';

/** Time for which an answer is kept, ms: so long is a changed domain served as before. */
const KEPT_MS = 2_000;
/** Most hosts whose answers are kept: anybody can send any `Host`. */
const MOST_KEPT = 1_000;

type Kept = { readonly at: number; readonly found: Promise<ServedDomain | null> };

/** Finds the page of a host. Only verified domains of published pages have one. */
export class DomainDirectory {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * The page that is served under a host; null: none is.
   *
   * @param host name of a `Host` header, without its port
   * @throws StoreError
   */
  find(host: string): Promise<ServedDomain | null> {
    const domain = askedDomain(host);
    if (domain === null || domain === '' || domain.length > 253) return Promise.resolve(null);
    const now = this.#clock.monotonic();
    const known = this.#kept.get(domain);
    if (known !== undefined && now - known.at < KEPT_MS) return known.found;
    const found = pageOfDomain(this.#store, domain);
    this.#kept.delete(domain);
    this.#kept.set(domain, { at: now, found });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    // A failure is not kept: the next request asks again.
    found.catch(() => this.#kept.delete(domain));
    return found;
  }
}
