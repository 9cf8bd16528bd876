import { RecentMap } from '../web/recent-map.ts';
import { Problem } from './problem.ts';

type Bucket = { tokens: number; at: number };

export type Rate = { readonly perSecond: number; readonly atOnce: number };

/** Default rate of requests of one API token. */
export const DEFAULT_RATE: Rate = { perSecond: 500, atOnce: 2_000 };

/** Default rate of requests without a valid token from one peer. */
export const DEFAULT_FAILURE_RATE: Rate = { perSecond: 1, atOnce: 30 };

/** Most remembered keys. The least recently used ones are forgotten first. */
const MOST_KEYS = 10_000;

/** A token bucket for each key. */
export class RateLimit<K> {
  readonly #rate: Rate;
  readonly #buckets = new RecentMap<K, Bucket>(MOST_KEYS);

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /**
   * Counts a use, if it may pass.
   *
   * @param now monotonic, ms
   * @returns 0 when it may pass, otherwise the seconds (>= 1) to wait
   */
  countUse(key: K, now: number): number {
    const { perSecond, atOnce } = this.#rate;
    const bucket = this.#buckets.get(key) ?? { tokens: atOnce, at: now };
    bucket.tokens = Math.min(atOnce, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
    bucket.at = now;
    this.#buckets.set(key, bucket);
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / perSecond);
    bucket.tokens -= 1;
    return 0;
  }
}

/** The refusal of what a {@link RateLimit} did not let pass. @param seconds to wait */
export function tooMany(what: string, seconds: number): Problem {
  return new Problem('rate-limited', `${what}; try again in ${seconds} s`, {
    headers: { 'retry-after': String(seconds) },
  });
}
