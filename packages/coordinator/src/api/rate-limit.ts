/** Requests per second and token, and how many may come at once. */
export const REQUESTS_PER_SECOND = 500;
export const REQUESTS_AT_ONCE = 2_000;

type Bucket = { tokens: number; at: number };

/** A token bucket per API token; pure but for the buckets. */
export class RateLimit {
  readonly #buckets = new Map<number, Bucket>();

  /**
   * @param now monotonic, ms
   * @returns 0 when the request may pass, else the seconds (>= 1) after which one may
   */
  take(tokenId: number, now: number): number {
    const bucket = this.#buckets.get(tokenId) ?? { tokens: REQUESTS_AT_ONCE, at: now };
    const refilled = bucket.tokens + ((now - bucket.at) / 1_000) * REQUESTS_PER_SECOND;
    bucket.tokens = Math.min(REQUESTS_AT_ONCE, refilled);
    bucket.at = now;
    this.#buckets.set(tokenId, bucket);
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / REQUESTS_PER_SECOND);
    bucket.tokens -= 1;
    return 0;
  }
}
