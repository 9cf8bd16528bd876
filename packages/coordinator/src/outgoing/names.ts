import { type LookupAddress, lookup } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { isCode } from '@svc/shared/errors.ts';

/** Resolves a name to all its addresses. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** Resolves names as the system does: hosts file, search list, system servers. */
export const resolveAsSystem: Resolve = (hostname) =>
  new Promise((resolve, reject) => {
    lookup(hostname, { all: true }, (error, addresses) => {
      if (error) reject(error);
      else resolve(addresses);
    });
  });

/**
 * Maximum number of lookups of suspects at once. A suspect is a name whose last query
 * failed, or whose name servers do not answer. By default, libuv runs at most 2 lookups of a
 * process at once, on half of its 4 threads, so suspects leave one of the two for other names.
 */
const SUSPECTS_AT_ONCE = 1;
/**
 * Maximum number of suspects in memory. If there are more, all suspects are forgotten, and each name must
 * fail once more to be a suspect again.
 */
const MAX_SUSPECTS = 10_000;

/** Time without an answer after which a name server counts as silent, ms. */
const SILENT_AFTER_MS = 1_000;

/**
 * Tells whether the name servers do not answer for a name. The function takes no lookup thread and never
 * rejects.
 */
export type IsSilent = (hostname: string) => Promise<boolean>;

/**
 * Creates an {@link IsSilent} that sends one query to the name servers. A server that answers at all is not
 * silent, even if the name does not exist. The content of the answer is not used, because only the system
 * knows the hosts file and the search list.
 *
 * @param servers left out: the system's servers at the time of each query
 */
export function silentNames(servers?: readonly string[]): IsSilent {
  return async (hostname) => {
    const resolver = new Resolver({ timeout: SILENT_AFTER_MS, tries: 1 });
    if (servers !== undefined) resolver.setServers(servers);
    try {
      await resolver.resolve4(hostname);
      return false;
    } catch (error) {
      return isCode(error, 'ETIMEOUT');
    }
  };
}

/**
 * Wraps `resolve` so that receivers whose names do not resolve do not delay other receivers. Each name has
 * one query at a time, and only one suspect is looked up at once. Before a name that is no suspect is looked
 * up, the name servers are asked about it, without a thread. If they are silent, the name counts as a suspect
 * for this lookup, because a lookup by the system then blocks its thread for many seconds and cannot be
 * cancelled.
 *
 * @param isSilent asks the name servers; null: they are not asked
 */
export function fairly(resolve: Resolve, isSilent: IsSilent | null): Resolve {
  const running = new Map<string, Promise<LookupAddress[]>>();
  const suspects = new Set<string>();
  const forSuspects = new Places(SUSPECTS_AT_ONCE);

  async function query(hostname: string): Promise<LookupAddress[]> {
    const asked = () => resolve(hostname);
    const isSuspect = suspects.has(hostname) || (isSilent !== null && (await isSilent(hostname)));
    try {
      const addresses = await (isSuspect ? forSuspects.taken(asked) : asked());
      suspects.delete(hostname);
      return addresses;
    } catch (error) {
      if (suspects.size >= MAX_SUSPECTS) suspects.clear();
      suspects.add(hostname);
      throw error;
    }
  }

  return (hostname) => {
    const known = running.get(hostname);
    if (known !== undefined) return known;
    const started = query(hostname).finally(() => running.delete(hostname));
    running.set(hostname, started);
    return started;
  };
}

/** A semaphore: a number of places, which callers get in the order of their requests. */
class Places {
  readonly #queue: (() => void)[] = [];
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  async taken<T>(work: () => Promise<T>): Promise<T> {
    // A place that becomes free goes directly to the next caller in the queue, without being counted as free.
    if (this.#free === 0) await new Promise<void>((resume) => this.#queue.push(resume));
    else this.#free -= 1;
    try {
      return await work();
    } finally {
      const next = this.#queue.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

/**
 * Resolves the names of the receivers of HTTP requests, and of mail relays. They share one resolver, because
 * all lookups share the threads of the process.
 */
export const resolveFairly = fairly(resolveAsSystem, silentNames());
