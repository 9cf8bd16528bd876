import type { Clock } from '@svc/shared/clock.ts';
import { StoreError } from '../../store/errors.ts';
import { pageOfDomain, type ServedDomain } from '../../store/pages/page-domains.ts';
import type { Store } from '../../store/store.ts';
import { type Patience, patienceWith } from '../patience.ts';
import { askedDomain } from './lookup.ts';

/** Time for which an answer is kept, ms: so long is a changed domain served as before. */
const KEPT_MS = 2_000;
/** Most hosts without a page whose answers are kept: anybody can send any `Host`. */
const MOST_UNKNOWN = 1_000;
/** Most domains with a page that are kept. Only verified ones are among them, so strangers cannot push them out. */
const MOST_SERVED = 10_000;

/** What was last read of a domain, and when it was last tried, monotonic, ms. */
type Kept = { readonly at: number; readonly found: ServedDomain | null };

/** A look at the database that all requests for a domain share. */
type Look = Patience & {
  /** Null: it goes on. */
  result: { readonly found: ServedDomain | null } | { readonly error: unknown } | null;
};

/**
 * Finds the page of a host. Only verified domains of published pages have one. While the database cannot be read, a
 * domain that had a page goes on having it, as its page goes on too.
 */
export class DomainDirectory {
  readonly #store: Store;
  readonly #clock: Clock;
  /** The least recently used first, in both. */
  readonly #served = new Map<string, Kept>();
  readonly #unknown = new Map<string, Kept>();
  readonly #looks = new Map<string, Look>();

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * The page that is served under a host; null: none is.
   *
   * @param host name of a `Host` header, without its port
   * @throws StoreError where it was not known before
   */
  async find(host: string): Promise<ServedDomain | null> {
    const domain = askedDomain(host);
    if (domain === null || domain === '' || domain.length > 253) return null;
    const known = this.#served.get(domain) ?? this.#unknown.get(domain);
    if (known !== undefined && this.#clock.monotonic() - known.at < KEPT_MS) return known.found;
    const look = this.#looks.get(domain) ?? this.#begin(domain);
    const last = this.#served.get(domain);
    await (last === undefined ? look.tooLate : look.late);
    const { result } = look;
    if (result !== null && 'found' in result) return result.found;
    if (last !== undefined) return last.found;
    if (result !== null) throw result.error;
    throw new StoreError('store-busy', `the database did not say in time whether ${domain} has a page`);
  }

  #begin(domain: string): Look {
    const ended = this.#look(domain).then(
      (found) => {
        look.result = { found };
      },
      (error: unknown) => {
        look.result = { error };
      },
    );
    const look: Look = { ...patienceWith(ended, this.#clock), result: null };
    this.#looks.set(domain, look);
    return look;
  }

  async #look(domain: string): Promise<ServedDomain | null> {
    const at = this.#clock.monotonic();
    try {
      const found = await pageOfDomain(this.#store, domain);
      keep(this.#served, domain, found === null ? null : { at, found }, MOST_SERVED);
      keep(this.#unknown, domain, found === null ? { at, found } : null, MOST_UNKNOWN);
      return found;
    } catch (error) {
      const last = this.#served.get(domain);
      if (last !== undefined) keep(this.#served, domain, { ...last, at }, MOST_SERVED);
      throw error;
    } finally {
      this.#looks.delete(domain);
    }
  }
}

/** @param value null: removed */
function keep(map: Map<string, Kept>, domain: string, value: Kept | null, most: number): void {
  // A map keeps the order of insertion, so the most recently used key is last.
  map.delete(domain);
  if (value === null) return;
  map.set(domain, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}
