import { longestCheckMs } from '@svc/coordinator/verdict/check-duration.ts';
import type { MonitorStatus } from '@svc/coordinator/verdict/monitor.ts';
import type { Transition } from './told.ts';
import type { World } from './world.ts';

/** The outages and alarms of a world, compared. */
export type OutageCounts = {
  /** Real outages that lasted long enough for every region to meet them in two slots. */
  readonly outages: number;
  /** Number of these outages without an `error` before they had lasted that long. */
  readonly late: number;
  /** Number of these outages without any `error`. */
  readonly missed: number;
  /** Number of `error` statuses that began while the target was well, and had been well before. */
  readonly falseAlarms: number;
  readonly watchedMs: number;
};

/** Time for a late start, the report and the decision, on top of the check, ms. */
const SLACK_MS = 15_000;

/**
 * Compares the alarms of a world with the outages of its target. A difference
 * is no violation: regions may report false failures, and agents may be gone.
 */
export class Outages {
  readonly #world: World;
  readonly #errors: { from: number; until: number }[] = [];
  #falseAlarms = 0;
  #status: MonitorStatus = 'unknown';
  #at = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** @param at ms after the beginning */
  see(transitions: readonly Transition[], status: MonitorStatus, at: number): void {
    this.#at = at;
    if (transitions.length === 0 || status === this.#status) return;
    const last = this.#errors.at(-1);
    if (this.#status === 'error' && last !== undefined) last.until = at;
    if (status === 'error') {
      this.#errors.push({ from: at, until: Number.POSITIVE_INFINITY });
      if (!this.#wasDown(at)) this.#falseAlarms += 1;
    }
    this.#status = status;
  }

  finish(): OutageCounts {
    const counts = { outages: 0, late: 0, missed: 0 };
    const dueMs = this.#dueMs();
    for (const { from, until, regions, sees, flapMs } of this.#world.troubles) {
      if (regions !== null || sees === 'slow' || flapMs > 0 || until - from < dueMs) continue;
      counts.outages += 1;
      const first = this.#errors.find((error) => error.until > from && error.from <= until);
      if (first === undefined) counts.missed += 1;
      else if (first.from > from + dueMs) counts.late += 1;
    }
    return { ...counts, falseAlarms: this.#falseAlarms, watchedMs: this.#at };
  }

  /** Time within which an outage must be announced, ms: two slots, each with its longest check. */
  #dueMs(): number {
    const { periodMs, timeoutMs, retry } = this.#world;
    return 2 * periodMs + longestCheckMs(timeoutMs, retry) + SLACK_MS;
  }

  /** Whether the target was down at a time in which the check of a present vote may have run. */
  #wasDown(at: number): boolean {
    const sinceMs = 3 * this.#world.periodMs + 2 * this.#dueMs() + this.#world.mishaps.lagMs;
    return this.#world.troubles.some(
      ({ from, until, regions, sees }) =>
        regions === null && sees !== 'slow' && from <= at && until >= at - sinceMs,
    );
  }
}
