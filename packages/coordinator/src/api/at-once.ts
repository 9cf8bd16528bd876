import { Problem } from './problem.ts';

/** One of the bounds on something that takes long: at most `most` at once of those with the same key. */
export type Bound = { readonly key: string; readonly most: number };

/** Work that people start by hand and that others wait behind: bounded per object and per workspace. */
export class AtOnce {
  readonly #running = new Map<string, number>();

  /**
   * @param what for the refusal: `tests of this channel`
   * @throws Problem `rate-limited` when one of the bounds is reached, or what `work` throws
   */
  async run<T>(what: string, bounds: readonly Bound[], work: () => Promise<T>): Promise<T> {
    const reached = bounds.find(({ key, most }) => (this.#running.get(key) ?? 0) >= most);
    if (reached !== undefined) {
      throw new Problem(
        'rate-limited',
        `${reached.most} ${what} run at this moment: try again when one has ended`,
        {
          headers: { 'retry-after': '5' },
        },
      );
    }
    for (const { key } of bounds) this.#add(key, 1);
    try {
      return await work();
    } finally {
      for (const { key } of bounds) this.#add(key, -1);
    }
  }

  #add(key: string, change: 1 | -1): void {
    const count = (this.#running.get(key) ?? 0) + change;
    if (count === 0) this.#running.delete(key);
    else this.#running.set(key, count);
  }
}
