/** What stands where a secret is not shown. */
export const MASK = '********';

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/**
 * A value that no print shows: a token, a key, settings in clear. Text, JSON, `util.inspect` and logs have
 * {@link MASK} in its place. A structured clone, as between threads, is an empty object.
 *
 * {@link reveal} is the only way to the value. It is called where the value is used, and what it answers is
 * not kept.
 */
export class Secret<T = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [INSPECT](): string {
    return MASK;
  }
}
