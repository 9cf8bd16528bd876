import type { Clock } from '@svc/shared/clock.ts';

const SHORTEST_MS = 1_000;
const LONGEST_MS = 60_000;

/** Waits for one task that is tried again and again: 1 s, then twice as long each time, 60 s at most. */
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

  /** After a try that failed: has `task` run after the next wait, whose length (ms) it answers. */
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
