/** Number of steps in the sum. */
const STEPS = 4;

/** Counts events over the last four steps, the present one included. */
export class Recent {
  readonly #counts = new Array<number>(STEPS).fill(0);
  #at = 0;
  #sum = 0;

  get sum(): number {
    return this.#sum;
  }

  /** The count over the last `steps`, up to four. */
  last(steps: number): number {
    let sum = 0;
    for (let back = 0; back < steps; back += 1) sum += this.#counts[(this.#at - back + STEPS) % STEPS] ?? 0;
    return sum;
  }

  /** Whether it happened in each of the last `steps`, up to four. */
  isSteady(steps: number): boolean {
    for (let back = 0; back < steps; back += 1) {
      if (this.#counts[(this.#at - back + STEPS) % STEPS] === 0) return false;
    }
    return true;
  }

  add(count: number): void {
    this.#counts[this.#at] = (this.#counts[this.#at] ?? 0) + count;
    this.#sum += count;
  }

  /** The present step is over. */
  step(): void {
    this.#at = (this.#at + 1) % STEPS;
    this.#sum -= this.#counts[this.#at] ?? 0;
    this.#counts[this.#at] = 0;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#sum = 0;
  }
}
