import { setImmediate } from 'node:timers/promises';
import type { Clock } from '@svc/shared/clock.ts';

/** Time that messages may take of one turn of the event loop, ms. */
const SLICE_MS = 5;

/**
 * Shares the thread among those who handle messages, and with everything else. After a slice of 5 ms of a turn of the
 * event loop, each handler waits for the next turn. There the handlers continue in order of arrival, with one
 * message each.
 */
export class TimeSlices {
  readonly #clock: Clock;
  /** Begin of this turn's handling, monotonic ms; null: nothing was handled in this turn. */
  #startedAt: number | null = null;
  #next: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined: go on. Otherwise wait, and call again. */
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
