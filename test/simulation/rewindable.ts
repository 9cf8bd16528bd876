/**
 * What can be set back: it is made again, and takes what it took before. Nothing has to be copied for that.
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

  /** How much it has taken. */
  get length(): number {
    return this.#taken.length;
  }

  /** Lets it take something, which depends on nothing that changes later. */
  take<Answer>(step: (value: T) => Answer): Answer {
    this.#taken.push(step);
    return step(this.#value);
  }

  /** Makes it again, as it was after so many steps. */
  rewindTo(length: number): void {
    this.#taken.length = length;
    this.#value = this.#create();
    for (const step of this.#taken) step(this.#value);
  }
}
