import { aborted } from '@svc/shared/on-abort.ts';
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
  async runBounded<T>(what: string, bounds: readonly Bound[], work: () => Promise<T>): Promise<T> {
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

/** Does the work of each owner one after the other, in the order in which it was asked for. */
export class InTurn<O> {
  /** By owner: resolves when all work that was asked for has ended. */
  readonly #last = new Map<O, Promise<unknown>>();

  /**
   * @param signal aborted when nobody waits any more: then the work is not begun
   * @throws the error of `work`, or Problem `unavailable` where it is not begun
   */
  async runInTurn<T>(owner: O, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(owner);
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const last = Promise.all([before, ended]);
    this.#last.set(owner, last);
    void last.then(() => {
      if (this.#last.get(owner) === last) this.#last.delete(owner);
    });
    try {
      if (before !== undefined) await Promise.race([before, aborted(signal)]);
      if (signal.aborted) throw new Problem('unavailable', 'nobody waits for this any more');
      return await work();
    } finally {
      end();
    }
  }
}
