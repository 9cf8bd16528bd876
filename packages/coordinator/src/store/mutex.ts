/** Lets one in at a time, in the order of asking. */
export class Mutex {
  #tail: Promise<void> = Promise.resolve();
  #inside = 0;

  /** Somebody holds it or waits for it. */
  get isBusy(): boolean {
    return this.#inside > 0;
  }

  /** Runs `work` alone; its outcome is passed on and never stops the next. */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    this.#inside++;
    const outcome = this.#tail.then(work);
    const leave = () => {
      this.#inside--;
    };
    this.#tail = outcome.then(leave, leave);
    return outcome;
  }
}
