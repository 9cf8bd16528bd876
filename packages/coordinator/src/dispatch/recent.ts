/** Counts events over the last steps, the present one included. */
export class Recent {
  readonly #counts: number[];
  #at = 0;
  #sum = 0;

  /** @param steps in the sum */
  constructor(steps = 4) {
    this.#counts = new Array<number>(steps).fill(0);
  }

  get sum(): number {
    return this.#sum;
  }

  /** Number of the steps in which it happened. */
  get stepsWithAny(): number {
    return this.#counts.filter((count) => count > 0).length;
  }

  /** The count over the last `steps`, up to those in the sum. */
  last(steps: number): number {
    let sum = 0;
    for (let back = 0; back < steps; back += 1) sum += this.#back(back);
    return sum;
  }

  /** Whether it happened in each of the last `steps`, up to those in the sum. */
  isSteady(steps: number): boolean {
    for (let back = 0; back < steps; back += 1) {
      if (this.#back(back) === 0) return false;
    }
    return true;
  }

  add(count: number): void {
    this.#counts[this.#at] = (this.#counts[this.#at] ?? 0) + count;
    this.#sum += count;
  }

  /** The present step is over. */
  step(): void {
    this.#at = (this.#at + 1) % this.#counts.length;
    this.#sum -= this.#counts[this.#at] ?? 0;
    this.#counts[this.#at] = 0;
  }

  clear(): void {
    this.#counts.fill(0);
    this.#sum = 0;
  }

  #back(steps: number): number {
    const { length } = this.#counts;
    return this.#counts[(this.#at - steps + length) % length] ?? 0;
  }
}
