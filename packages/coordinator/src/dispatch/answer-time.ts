import { LeastLately } from '@svc/shared/least-lately.ts';

/** Longest way to a region and back that is believed, ms: two geostationary satellites, and slow agents. */
export const LONGEST_TRIP_MS = 2_000;
/** The least time is that of the last one or two spans of this length, ms: routes change. */
const SPAN_MS = 30_000;

/**
 * How long a region's agents take to answer an offer at the least: the way there and back. Before that much time
 * has passed, silence says nothing.
 *
 * A repeated offer may be answered twice, so answers are timed from the first offer of their job. What was lost makes
 * such a time longer, and the least one is not among those.
 */
export class AnswerTime {
  readonly #leastMs = new LeastLately();
  #spanEndsAt = Number.NEGATIVE_INFINITY;

  /** At most {@link LONGEST_TRIP_MS}; that much too where nothing is known. */
  get ms(): number {
    return Math.min(this.#leastMs.value, LONGEST_TRIP_MS);
  }

  /** Whether an answer has ever come. */
  get isKnown(): boolean {
    return this.#spanEndsAt !== Number.NEGATIVE_INFINITY;
  }

  /**
   * @param ms from the first offer of the job
   * @param now monotonic, ms
   */
  answered(ms: number, now: number): void {
    if (now >= this.#spanEndsAt) {
      this.#leastMs.nextSpan();
      this.#spanEndsAt = now + SPAN_MS;
    }
    this.#leastMs.add(ms);
  }
}
