import type { Clock } from '@svc/shared/clock.ts';

/** A clock whose timers die with the process that set them. */
export class MortalClock implements Clock {
  readonly #clock: Clock;
  isAlive = true;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  die(): void {
    this.isAlive = false;
  }

  wall(): number {
    return this.#clock.wall();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  after(delayMs: number, task: () => void): () => void {
    return this.#clock.after(delayMs, () => {
      if (this.isAlive) task();
    });
  }

  every(intervalMs: number, task: () => void): () => void {
    const cancel = this.#clock.every(intervalMs, () => {
      if (this.isAlive) task();
      else cancel();
    });
    return cancel;
  }
}
