import { setImmediate } from 'node:timers/promises';
import type { Clock } from '@svc/shared/clock.ts';

/** What messages may take of one turn of the event loop, ms. */
const SLICE_MS = 5;

/**
 * Shares the thread between those who handle messages, and with everything else that runs on it: after 5 ms
 * of a turn of the event loop each waits for the next one, where they go on in the order in which they came,
 * one message each.
 */
export class Turns {
  readonly #clock: Clock;
  /** Monotonic ms; null: nothing was handled in this turn. */
  #startedAt: number | null = null;
  #next: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined: go on. Else wait, and ask again. */
  wait(): Promise<void> | undefined {
    if (this.#startedAt === null) {
      this.#startedAt = this.#clock.monotonic();
      this.#next = setImmediate().then(() => {
        this.#startedAt = null;
      });
      return undefined;
    }
    return this.#clock.monotonic() - this.#startedAt < SLICE_MS ? undefined : this.#next;
  }
}
