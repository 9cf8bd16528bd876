import type { Clock } from './clock.ts';

const SHORTEST_MS = 1_000;
const LONGEST_MS = 60_000;

/** Waits of one task that is tried repeatedly: 1 s, then twice as long each time, at most 60 s. */
export class GrowingWaits {
  readonly #clock: Clock;
  #tries = 0;
  #cancel: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Tries that failed since the last {@link reset}. */
  get tries(): number {
    return this.#tries;
  }

  /**
   * Call it after a failed try. It runs `task` after the next wait, and answers the length of the wait, ms.
   */
  again(task: () => void): number {
    this.#cancel();
    const waitMs = Math.min(SHORTEST_MS * 2 ** this.#tries, LONGEST_MS);
    this.#tries += 1;
    this.#cancel = this.#clock.after(waitMs, task);
    return waitMs;
  }

  /** Ends the wait; the next one is the shortest. */
  reset(): void {
    this.#tries = 0;
    this.#cancel();
  }
}
