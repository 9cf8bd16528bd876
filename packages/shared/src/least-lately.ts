/** The least of the values of this span and the one before; infinite where there are none. */
export class LeastLately {
  #least = Number.POSITIVE_INFINITY;
  #leastBefore = Number.POSITIVE_INFINITY;

  get value(): number {
    return Math.min(this.#least, this.#leastBefore);
  }

  add(value: number): void {
    this.#least = Math.min(this.#least, value);
  }

  /** Another span begins. */
  nextSpan(): void {
    this.#leastBefore = this.#least;
    this.#least = Number.POSITIVE_INFINITY;
  }
}
