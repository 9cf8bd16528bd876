import type { Clock } from '@svc/shared/clock.ts';
import type { Logger } from '@svc/shared/log.ts';

/** At most one log line per kind in this time, ms. */
const QUIET_MS = 10_000;

/** Counts what is dropped or wrong, and says so in the log without flooding it. */
export class DropLog<Kind extends string> {
  /** Since the start, per kind. */
  readonly counts: Readonly<Record<Kind, number>>;
  readonly #counts: Record<Kind, number>;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** Per kind: when the log may be written again (monotonic ms), and what was not said since. */
  readonly #quiet = new Map<Kind, { until: number; untold: number }>();

  constructor(kinds: readonly Kind[], clock: Clock, log: Logger) {
    this.#counts = Object.fromEntries(kinds.map((kind) => [kind, 0])) as Record<Kind, number>;
    this.counts = this.#counts;
    this.#clock = clock;
    this.#log = log;
  }

  /** `details` of the first one and of the first after each quiet time are logged. */
  add(kind: Kind, details: object, message: string, count = 1): void {
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
