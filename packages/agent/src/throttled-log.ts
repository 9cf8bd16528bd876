import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';

const INTERVAL_MS = 10_000;

/**
 * Logs warnings about foreign input: at most one line for each message text in 10 s, with the number of lines
 * that were left out.
 */
export class ThrottledLog {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #lines = new Map<string, { nextAt: number; leftOut: number }>();

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** @param message a constant, because each different text is remembered */
  warn(message: string, details: object): void {
    const now = this.#clock.monotonic();
    const line = this.#lines.get(message);
    if (line !== undefined && now < line.nextAt) {
      line.leftOut += 1;
      return;
    }
    this.#log.warn({ ...details, leftOut: line?.leftOut ?? 0 }, message);
    this.#lines.set(message, { nextAt: now + INTERVAL_MS, leftOut: 0 });
  }
}
