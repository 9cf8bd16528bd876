import { StoreError } from './errors.ts';

/** Most waiting transactions. On a disk that stalls, each holds a request of the API with its body. */
export const MAX_WAITING_TRANSACTIONS = 1_000;

/**
 * Lets one piece of work in at a time. Urgent work goes before waiting work: a flood of requests, or requests
 * that a stalled disk has let pile up, must not delay verdicts and alerts. Otherwise the order of asking
 * counts. There is never more than one urgent piece of work at a time, so that waiting work gets a turn in
 * between.
 */
export class WriteQueue {
  readonly #urgent: (() => Promise<void>)[] = [];
  readonly #waiting: (() => Promise<void>)[] = [];
  #isBusy = false;

  /** Runs `work` alone. Its outcome is passed on, and never stops the next work. */
  runUrgent<T>(work: () => Promise<T>): Promise<T> {
    return this.#add(this.#urgent, work);
  }

  /** As {@link runUrgent}, after the work that waits already. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return this.#add(this.#waiting, work);
  }

  /** @throws StoreError `store-overloaded` when too many pieces of work wait */
  runIfRoom<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting.length < MAX_WAITING_TRANSACTIONS) return this.run(work);
    const message = `the database has ${MAX_WAITING_TRANSACTIONS} waiting transactions, the most it takes: try again later`;
    return Promise.reject(new StoreError('store-overloaded', message));
  }

  #add<T>(queue: (() => Promise<void>)[], work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      queue.push(() => work().then(resolve, reject));
      if (!this.#isBusy) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isBusy = true;
    for (let next = this.#next(); next !== undefined; next = this.#next()) await next();
    this.#isBusy = false;
  }

  #next(): (() => Promise<void>) | undefined {
    return this.#urgent.shift() ?? this.#waiting.shift();
  }
}
