import type { Clock } from './clock.ts';
import type { Logger } from './log.ts';

/** At most one line about the same in this time, ms. */
const QUIET_MS = 10_000;

/** Warnings that others can bring about as often as they like: a line now and then, with how many it stands for. */
export class ThrottledLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  /** When a line may be written again (monotonic ms), and what was not told since. */
  readonly #quiet = new Map<string, { until: number; untold: number }>();

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /**
   * The line has the details of the first one in its time.
   *
   * @param message a constant, as is `about`: each different one is remembered
   * @param about what one line stands for, where several messages are about the same
   * @param count how many happened at once
   */
  warn(message: string, details: object, { about = message, count = 1 } = {}): void {
    const now = this.#clock.monotonic();
    const quiet = this.#quiet.get(about);
    if (quiet !== undefined && now < quiet.until) {
      quiet.untold += count;
      return;
    }
    this.#quiet.set(about, { until: now + QUIET_MS, untold: 0 });
    this.#log.warn({ ...details, count: count + (quiet?.untold ?? 0) }, message);
  }
}
