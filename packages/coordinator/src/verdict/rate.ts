/** A limit on sends: as many as `burst` at once, and `perMinute` in the long run. */
export type Rate = {
  /** Sends per minute in the long run, > 0. */
  readonly perMinute: number;
  /** Number of sends that are possible at once; an integer, >= 1. */
  readonly burst: number;
};

/**
 * A bucket of tokens for one {@link Rate}. It is full at first, and a send takes one token. Instants are ms
 * of one monotonic clock.
 */
export class TokenBucket {
  readonly #msPerToken: number;
  readonly #burst: number;
  /** When the bucket will be full again if no further token is taken. */
  #fullAt = Number.NEGATIVE_INFINITY;

  constructor({ perMinute, burst }: Rate) {
    this.#msPerToken = 60_000 / perMinute;
    this.#burst = burst;
  }

  /** When the next token is available; `now` if one is available already. */
  availableAt(now: number): number {
    return Math.max(this.#fullAt - (this.#burst - 1) * this.#msPerToken, now);
  }

  /**
   * Takes a token. If none is available, the next token is available later by the time of one more token: tests,
   * and replays to a stopped channel, do not wait for a token.
   */
  takeToken(now: number): void {
    this.#fullAt = Math.max(this.#fullAt, now) + this.#msPerToken;
  }
}
