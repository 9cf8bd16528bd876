import type { Clock } from '@svc/shared/clock.ts';

/** How often the event loop is asked whether it is late. */
const SAMPLE_MS = 100;
/** From this delay on, the agent's time-outs mean nothing. */
export const STARVED_MS = 500;
/** Stalls are remembered this long: longer than any attempt (120 s) may take. */
const REMEMBERED_MS = 180_000;

type Stall = { to: number; delay: number };

/**
 * Watches how late the event loop runs its timers, to tell a slow target from a slow agent.
 *
 * Only stalls of 500 ms and more are remembered; at most one exists per half second, so the list is
 * bounded by {@link REMEMBERED_MS}.
 */
export class Starvation {
  readonly #clock: Clock;
  #stalls: Stall[] = [];
  #lastSampleAt: number;
  #largestDelay = 0;
  #cancel: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastSampleAt = clock.monotonic();
  }

  start(): void {
    this.#lastSampleAt = this.#clock.monotonic();
    this.#cancel = this.#clock.every(SAMPLE_MS, () => this.#sample());
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }

  /**
   * Delay of the stalls that touch the time from `from` until now, ms; 0 when there was none of at
   * least {@link STARVED_MS}. Includes the one that is just ending: after a stall a probe's time-out may be run before
   * our sample is.
   *
   * @param from monotonic milliseconds
   */
  delaySince(from: number): number {
    const pending = this.#pendingDelay();
    let total = pending >= STARVED_MS ? Math.min(pending, this.#clock.monotonic() - from) : 0;
    for (let index = this.#stalls.length - 1; index >= 0; index--) {
      const stall = this.#stalls[index];
      if (stall === undefined || stall.to <= from) break;
      total += Math.min(stall.delay, stall.to - from);
    }
    return total;
  }

  /** Largest delay since it was last asked, ms. */
  takeLargestDelay(): number {
    const largest = Math.max(this.#largestDelay, this.#pendingDelay());
    this.#largestDelay = 0;
    return largest;
  }

  #sample(): void {
    const now = this.#clock.monotonic();
    const delay = this.#pendingDelay();
    this.#largestDelay = Math.max(this.#largestDelay, delay);
    if (delay >= STARVED_MS) {
      this.#stalls = this.#stalls.filter((stall) => stall.to > now - REMEMBERED_MS);
      this.#stalls.push({ to: now, delay });
    }
    this.#lastSampleAt = now;
  }

  #pendingDelay(): number {
    if (this.#cancel === null) return 0;
    return Math.max(0, this.#clock.monotonic() - this.#lastSampleAt - SAMPLE_MS);
  }
}
