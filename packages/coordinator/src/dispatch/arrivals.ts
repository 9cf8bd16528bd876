import { type Delays, LATE_RESULT_MS, VERY_LATE_RESULT_MS } from '../domain/admission.ts';
import { Recent } from './recent.ts';

/** How many results came lately, and how late they were. */
export class Arrivals {
  readonly #results = new Recent();
  readonly #late = new Recent();
  readonly #veryLate = new Recent();

  /** Nothing came over the last four steps. */
  get isEmpty(): boolean {
    return this.#results.sum === 0;
  }

  /** @param beyondMs by how much it was delayed more than it has to be */
  add(beyondMs: number): void {
    this.#results.add(1);
    if (beyondMs >= LATE_RESULT_MS) this.#late.add(1);
    if (beyondMs >= VERY_LATE_RESULT_MS) this.#veryLate.add(1);
  }

  /** Over the last `steps`, up to four. */
  last(steps: number): Delays {
    return {
      results: this.#results.last(steps),
      late: this.#late.last(steps),
      veryLate: this.#veryLate.last(steps),
    };
  }

  /** The present step is over. */
  step(): void {
    for (const each of [this.#results, this.#late, this.#veryLate]) each.step();
  }
}
