import type { Clock } from '@svc/shared/clock.ts';

/** The clock is looked at this often, ms. */
const EVERY_MS = 500;
/** So much later than that, this process stood still, ms. */
const LATE_MS = 500;

/**
 * Notices that this process stood still: it was stopped, its machine was, or something held the thread. What waited
 * in sockets comes before timers afterwards, so whoever handles it asks as well.
 */
export class Standstill {
  readonly #clock: Clock;
  /** For how long, ms. */
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

  /** Between looks nothing is told. */
  look(): void {
    const now = this.#clock.monotonic();
    const ms = now - this.#lookedAt;
    if (ms >= EVERY_MS) this.#lookedAt = now;
    if (ms > EVERY_MS + LATE_MS) this.#onStood(ms);
  }
}
