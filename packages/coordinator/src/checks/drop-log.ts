import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';

/** Shortest interval between log lines of one kind, ms. */
const QUIET_MS = 10_000;

/** Counts dropped or wrong input by kind, and logs it without flooding the log. */
export class DropLog<Kind extends string> {
  /** Number of events of each kind since the start. */
  readonly counts: Readonly<Record<Kind, number>>;
  readonly #counts: Record<Kind, number>;
  readonly #clock: Clock;
  readonly #log: Logger;
  /**
   * By kind, when the next line may be logged (monotonic ms), and the number of events since the last line.
   */
  readonly #quiet = new Map<Kind, { until: number; untold: number }>();

  constructor(kinds: readonly Kind[], clock: Clock, log: Logger) {
    this.#counts = Object.fromEntries(kinds.map((kind) => [kind, 0])) as Record<Kind, number>;
    this.counts = this.#counts;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Counts an event. The first event, and the first event after each quiet interval, is logged with
   * `details`.
   */
  countDrop(kind: Kind, details: object, message: string, count = 1): void {
    this.#counts[kind] += count;
    const now = this.#clock.monotonic();
    const quiet = this.#quiet.get(kind);
    if (quiet !== undefined && now < quiet.until) {
      quiet.untold += count;
      return;
    }
    this.#quiet.set(kind, { until: now + QUIET_MS, untold: 0 });
    this.#log.warn({ ...details, kind, count: count + (quiet?.untold ?? 0) }, message);
  }
}
