import { aborted } from '@svc/shared/waiting.ts';
import { Problem } from './problem.ts';

/** A bound on slow work: at most `most` pieces of work with the same key run at once. */
export type Bound = { readonly key: string; readonly most: number };

/** Bounds the slow work that people request, for example for each channel and for each workspace. */
export class AtOnce {
  readonly #running = new Map<string, number>();

  /**
   * Runs `work`, unless a bound is reached.
   *
   * @param what names the bounded work in the message of the refusal: `tests of this channel`
   * @throws Problem `rate-limited` when a bound is reached, or the error of `work`
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

/** Runs the work of each owner one after the other, in the order of the calls. */
export class InTurn<O> {
  /** For each owner, a promise that resolves when all work of the owner has ended. */
  readonly #last = new Map<O, Promise<unknown>>();

  /**
   * Runs `work` when all earlier work of the owner has ended.
   *
   * @param signal aborted when the caller is gone. If the
   *   caller goes before `work` begins, `work` does not begin
   * @throws the error of `work`, or Problem `unavailable` if `work` does not begin
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
      if (signal.aborted) throw new Problem('unavailable', 'the caller has left');
      return await work();
    } finally {
      end();
    }
  }
}
