/** Bounds the number of tasks in progress; the others wait in line. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /**
   * Calls `start` when its turn comes, possibly at once. The task must call {@link
   * release} once, when it is done.
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
