type Bucket = { tokens: number; at: number };

export type Rate = { readonly perSecond: number; readonly atOnce: number };

export const DEFAULT_RATE: Rate = { perSecond: 500, atOnce: 2_000 };

/** A token bucket per API token. */
export class RateLimit {
  readonly #rate: Rate;
  readonly #buckets = new Map<number, Bucket>();

  constructor(rate: Rate = DEFAULT_RATE) {
    this.#rate = rate;
  }

  /**
   * @param now monotonic, ms
   * @returns 0 when the request may pass, else the seconds (>= 1) after which one may
   */
  take(tokenId: number, now: number): number {
    const { perSecond, atOnce } = this.#rate;
    const bucket = this.#buckets.get(tokenId) ?? { tokens: atOnce, at: now };
    bucket.tokens = Math.min(atOnce, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond);
    bucket.at = now;
    this.#buckets.set(tokenId, bucket);
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / perSecond);
    bucket.tokens -= 1;
    return 0;
  }
}
