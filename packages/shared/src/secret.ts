/** The text that replaces a secret wherever it is not shown. */
export const MASK = '********';

const INSPECT = Symbol.for('nodejs.util.inspect.custom');

/**
 * A value that no output shows, such as a token, a key, or settings in clear text. Strings, JSON,
 * `util.inspect` and logs show {@link MASK} in its place. A structured clone, such as a message to
 * another thread, is an empty object.
 *
 * {@link reveal} is the only way to the value. Call it where the value is used, and do not keep its result.
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
