import { Problem } from './problem.ts';

/** A bound on slow work: at most `most` at once with the same key. */
export type Bound = { readonly key: string; readonly most: number };

/** Bounds work that people start by hand and that others wait behind, for each object and each workspace. */
export class AtOnce {
  readonly #running = new Map<string, number>();

  /**
   * @param what words for the refusal: `tests of this channel`
   * @throws Problem `rate-limited` when one of the bounds is reached, or the error of `work`
   */
  async run<T>(what: string, bounds: readonly Bound[], work: () => Promise<T>): Promise<T> {
    const reached = bounds.find(({ key, most }) => (this.#running.get(key) ?? 0) >= most);
    if (reached !== undefined) {
      throw new Problem(
        'rate-limited',
        `${reached.most} ${what} are running at this moment: try again when one has ended`,
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
