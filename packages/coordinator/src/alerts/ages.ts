import type { Clock } from '@svc/shared/clock.ts';
import { LOOK_AT_CLOCK_EVERY_MS, PassedTime } from '../verdict/passed-time.ts';

/** Ages of deliveries, by the time that really passed. */
export class Ages {
  readonly #clock: Clock;
  readonly #passed: PassedTime;
  #cancelTimer: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#passed = new PassedTime(clock.wall(), clock.monotonic());
  }

  start(): void {
    this.#cancelTimer = this.#clock.every(LOOK_AT_CLOCK_EVERY_MS, () => this.#look());
  }

  stop(): void {
    this.#cancelTimer();
  }

  /** Time since a stored instant, epoch ms, in ms, >= 0. */
  of(at: number): number {
    this.#look();
    return this.#passed.since(at);
  }

  #look(): void {
    this.#passed.look(this.#clock.wall(), this.#clock.monotonic());
  }
}
