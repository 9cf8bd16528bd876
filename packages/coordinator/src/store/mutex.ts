/** Lets one in at a time, in the order of asking. */
export class Mutex {
  #tail: Promise<unknown> = Promise.resolve();

  /** Runs `work` alone; its outcome is passed on and never stops the next. */
  run<T>(work: () => T | Promise<T>): Promise<T> {
    const outcome = this.#tail.then(work);
    this.#tail = outcome.catch(() => {});
    return outcome;
  }
}
