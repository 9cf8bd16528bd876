export type Patience = {
  /** Time for which attempts continue against a server that has answered before, ms. */
  readonly failingMs: number;
  /**
   * Time for which attempts continue against a server that has never answered, ms. If a server never
   * answered, a wrong address is more likely than a restart.
   */
  readonly neverAnsweredMs: number;
};

/**
 * Tracks how long the server has been failing, over all requests of a client. When a thousand objects are
 * read from a server that is down, the first requests are repeated until the patience ends, and later
 * requests fail after one attempt.
 */
export class ServerHealth {
  readonly #patience: Patience;
  #failingSince: number | null = null;
  #hasAnswered = false;

  constructor(patience: Patience) {
    this.#patience = patience;
  }

  answered(): void {
    this.#hasAnswered = true;
    this.#failingSince = null;
  }

  /**
   * @param now monotonic ms
   * @param isThere whether the failure itself shows that a server exists and will be back
   */
  failed(now: number, isThere: boolean): void {
    this.#failingSince ??= now;
    if (isThere) this.#hasAnswered = true;
  }

  /**
   * Until when further attempts are worthwhile, monotonic ms.
   *
   * @param operationFailingSince when this request began to fail, monotonic ms. It may fail while other
   *   requests of the client succeed
   */
  triedUntil(operationFailingSince: number): number {
    const since = Math.min(this.#failingSince ?? operationFailingSince, operationFailingSince);
    return since + (this.#hasAnswered ? this.#patience.failingMs : this.#patience.neverAnsweredMs);
  }
}
