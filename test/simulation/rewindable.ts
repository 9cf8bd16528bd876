/**
 * A value that can be set back: the value is created again, and
 * the earlier steps are repeated. So nothing has to be copied.
 */
export class Rewindable<T> {
  readonly #create: () => T;
  readonly #taken: ((value: T) => void)[] = [];
  #value: T;

  constructor(create: () => T) {
    this.#create = create;
    this.#value = create();
  }

  get value(): T {
    return this.#value;
  }

  /** Number of steps that were taken. */
  get length(): number {
    return this.#taken.length;
  }

  /** Takes a step. The step must not depend on anything that changes later. */
  take<Answer>(step: (value: T) => Answer): Answer {
    this.#taken.push(step);
    return step(this.#value);
  }

  /** Creates the value again, as it was after the first `length` steps. */
  rewindTo(length: number): void {
    this.#taken.length = length;
    this.#value = this.#create();
    for (const step of this.#taken) step(this.#value);
  }
}
