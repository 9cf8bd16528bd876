import type { Clock } from '@svc/shared/clock.ts';

/** Interval of the looks at the clock, ms. */
const EVERY_MS = 500;
/** Delay of a look after which the process counts as having stood still, ms. */
const LATE_MS = 500;

/**
 * Notices that this process stood still: it was stopped, its machine was, or something held the thread. After
 * a standstill, messages that waited in sockets come before timers, so code that handles them must call
 * {@link look} as well.
 */
export class Standstill {
  readonly #clock: Clock;
  /** Gets the length of the standstill, ms. */
  readonly #onStood: (ms: number) => void;
  #lookedAt = Number.POSITIVE_INFINITY;
  #stopTimer: () => void = () => {};

  constructor(clock: Clock, onStood: (ms: number) => void) {
    this.#clock = clock;
    this.#onStood = onStood;
  }

  start(): void {
    this.#lookedAt = this.#clock.monotonic();
    this.#stopTimer = this.#clock.every(EVERY_MS, () => this.look());
  }

  stop(): void {
    this.#stopTimer();
    this.#lookedAt = Number.POSITIVE_INFINITY;
  }

  /** Compares the clock with the last look; does nothing between looks. */
  look(): void {
    const now = this.#clock.monotonic();
    const ms = now - this.#lookedAt;
    if (ms >= EVERY_MS) this.#lookedAt = now;
    if (ms > EVERY_MS + LATE_MS) this.#onStood(ms);
  }
}
