import { DELAYED_RESULT_MS, type Delays, LATE_RESULT_MS, VERY_LATE_RESULT_MS } from '../domain/pressure.ts';
import { Recent } from './recent.ts';

/**
 * Dropped checks are late where some were dropped in so many of the last five seconds' steps. An agent that has too much to
 * do drops some in each. One that stands still for a moment now and then drops many at once, and would do so however little it was given.
 */
const DROPPING_STEPS = 10;
const LEAST_DROPPING_STEPS = 3;

/** Counts recent results and their delays. A dropped check counts as a result. */
export class Arrivals {
  readonly #results = new Recent();
  readonly #delayed = new Recent();
  readonly #late = new Recent();
  readonly #veryLate = new Recent();
  readonly #dropped = new Recent(DROPPING_STEPS);

  /** Whether no result came over the last four steps. */
  get isEmpty(): boolean {
    return this.#results.sum === 0;
  }

  /** @param beyondMs delay beyond the unavoidable one */
  add(beyondMs: number): void {
    this.#results.add(1);
    if (beyondMs >= DELAYED_RESULT_MS) this.#delayed.add(1);
    if (beyondMs >= LATE_RESULT_MS) this.#late.add(1);
    if (beyondMs >= VERY_LATE_RESULT_MS) this.#veryLate.add(1);
  }

  /** A check was dropped because it could not begin in time. */
  drop(): void {
    this.#results.add(1);
    this.#dropped.add(1);
  }

  /** The counts of the last `steps`, up to four. */
  last(steps: number): Delays {
    const isDropping = this.#dropped.stepsWithAny >= LEAST_DROPPING_STEPS;
    const dropped = isDropping ? this.#dropped.last(steps) : 0;
    return {
      results: this.#results.last(steps),
      delayed: this.#delayed.last(steps) + dropped,
      late: this.#late.last(steps) + dropped,
      veryLate: this.#veryLate.last(steps),
    };
  }

  /** The present step is over. */
  step(): void {
    for (const each of [this.#results, this.#delayed, this.#late, this.#veryLate, this.#dropped]) each.step();
  }
}
