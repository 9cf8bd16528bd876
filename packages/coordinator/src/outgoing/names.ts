import { type LookupAddress, lookup } from 'node:dns';

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

/** Places for suspects among the four threads that the system's resolver has for the whole process. */
const PLACES_FOR_SUSPECTS = 2;
/** Most suspects that are remembered. Beyond this all are forgotten, which costs some threads once. */
const MAX_SUSPECTS = 10_000;

/**
 * Keeps channels with a dead zone from delaying all others: one query for each name at a time, and names
 * whose last query failed share two places.
 */
export function fairly(resolve: Resolve): Resolve {
  const running = new Map<string, Promise<LookupAddress[]>>();
  const suspects = new Set<string>();
  const queue: (() => void)[] = [];
  let places = PLACES_FOR_SUSPECTS;

  async function asSuspect(hostname: string): Promise<LookupAddress[]> {
    // A free place is handed on directly and is not counted as free in between.
    if (places === 0) await new Promise<void>((resume) => queue.push(resume));
    else places -= 1;
    try {
      return await resolve(hostname);
    } finally {
      const next = queue.shift();
      if (next === undefined) places += 1;
      else next();
    }
  }

  async function query(hostname: string): Promise<LookupAddress[]> {
    try {
      const addresses = await (suspects.has(hostname) ? asSuspect(hostname) : resolve(hostname));
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
