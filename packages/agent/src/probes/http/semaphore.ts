/** Limits the number of tasks in progress. Further tasks wait, and start in the order in which they came. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /**
   * Calls `start` when a place is free, possibly at once.
   * When the task is done, it must call {@link release} once.
   */
  acquire(start: () => void): void {
    if (this.#free === 0) {
      this.#waiting.push(start);
      return;
    }
    this.#free -= 1;
    start();
  }

  release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
