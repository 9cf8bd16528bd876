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

/** Of the four threads that the system's resolver has for the whole process. */
export type Lookups = {
  /** At once, of all names. */
  readonly atOnce: number;
  /** At once, of names whose last query failed, or whose name servers are silent. */
  readonly ofSuspects: number;
};

/** For alerts. */
const LOOKUPS: Lookups = { atOnce: Number.POSITIVE_INFINITY, ofSuspects: 2 };
/** Most suspects that are remembered. Beyond this all are forgotten, which costs some threads once. */
const MAX_SUSPECTS = 10_000;

/** Time after which a name server that does not answer is silent, ms. */
const SILENT_AFTER_MS = 1_000;

/** Whether the name servers say nothing about a name. It takes no thread, and never rejects. */
export type IsSilent = (hostname: string) => Promise<boolean>;

/**
 * Asks name servers for one kind of address, once. Every answer counts, also one that the name does not exist.
 * The answer itself is not used: only the system knows the hosts file and the search list.
 *
 * @param servers left out: those of the system, as they are at each question
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
 * Keeps receivers with a dead zone from delaying all others: one query for each name at a time, and names
 * whose last query failed share few places. So do names whose servers are silent when asked before, because
 * a query of the system holds its thread for many seconds and cannot be ended.
 *
 * @param isSilent null: nothing is asked before
 */
export function fairly(
  resolve: Resolve,
  { atOnce, ofSuspects }: Lookups = LOOKUPS,
  isSilent: IsSilent | null = resolve === resolveAsSystem ? silentNames() : null,
): Resolve {
  const running = new Map<string, Promise<LookupAddress[]>>();
  const suspects = new Set<string>();
  const all = new Places(atOnce);
  const forSuspects = new Places(ofSuspects);

  async function query(hostname: string): Promise<LookupAddress[]> {
    const asked = () => all.taken(() => resolve(hostname));
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

/** Places that are taken in the order of asking. */
class Places {
  readonly #queue: (() => void)[] = [];
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  async taken<T>(work: () => Promise<T>): Promise<T> {
    // A place that becomes free is handed on without being counted as free in between.
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
