import { DELAYED_RESULT_MS, type Delays, LATE_RESULT_MS, VERY_LATE_RESULT_MS } from '../domain/pressure.ts';
import { Recent } from './recent.ts';

/** Counts recent results and their delays. */
export class Arrivals {
  readonly #results = new Recent();
  readonly #delayed = new Recent();
  readonly #late = new Recent();
  readonly #veryLate = new Recent();

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

  /** The counts of the last `steps`, up to four. */
  last(steps: number): Delays {
    return {
      results: this.#results.last(steps),
      delayed: this.#delayed.last(steps),
      late: this.#late.last(steps),
      veryLate: this.#veryLate.last(steps),
    };
  }

  /** The present step is over. */
  step(): void {
    for (const each of [this.#results, this.#delayed, this.#late, this.#veryLate]) each.step();
  }
}
