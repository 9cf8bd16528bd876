/** Lets a bounded number of tasks be in progress; the others wait in line. */
export class Semaphore {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Calls `start` when it is its turn, possibly at once. Who was called calls {@link give} once. */
  take(start: () => void): void {
    if (this.#free === 0) {
      this.#waiting.push(start);
      return;
    }
    this.#free -= 1;
    start();
  }

  give(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
