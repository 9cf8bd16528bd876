export type Patience = {
  /** How long attempts go on against a server that has answered before, ms. */
  readonly failingMs: number;
  /** And against one that never has: more likely a wrong address than a restart, ms. */
  readonly neverAnsweredMs: number;
};

/**
 * How long the server has been failing, over all requests of a client. With a thousand objects to read
 * from a server that is down, the first requests wait for it; the later ones fail after one attempt.
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
   * @param isThere the failure itself shows that there is a server which will be back
   */
  failed(now: number, isThere: boolean): void {
    this.#failingSince ??= now;
    if (isThere) this.#hasAnswered = true;
  }

  /**
   * Until when it is worth trying, monotonic ms.
   *
   * @param operationFailingSince of the one request: an object whose reading fails while others are fine
   */
  triedUntil(operationFailingSince: number): number {
    const since = Math.min(this.#failingSince ?? operationFailingSince, operationFailingSince);
    return since + (this.#hasAnswered ? this.#patience.failingMs : this.#patience.neverAnsweredMs);
  }
}
