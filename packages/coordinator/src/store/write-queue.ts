import { StoreError } from './errors.ts';

/** Transactions that may wait; on a disk that stalls each is a request of the API with its body. */
export const MAX_WAITING_TRANSACTIONS = 1_000;

/**
 * Lets one in at a time. What is urgent goes before what waits, so that a flood of requests, or those that
 * a stalled disk has let pile up, do not delay verdicts and alerts; apart from that in the order of asking.
 * There is never more than one urgent work at a time, so that others have their turn between two.
 */
export class WriteQueue {
  readonly #urgent: (() => Promise<void>)[] = [];
  readonly #waiting: (() => Promise<void>)[] = [];
  #isBusy = false;

  /** Runs `work` alone; its outcome is passed on and never stops the next. */
  runUrgent<T>(work: () => Promise<T>): Promise<T> {
    return this.#add(this.#urgent, work);
  }

  /** As {@link runUrgent}, after what waits. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return this.#add(this.#waiting, work);
  }

  /** @throws StoreError `store-overloaded` when too many wait */
  runIfRoom<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting.length < MAX_WAITING_TRANSACTIONS) return this.run(work);
    const message = `database: ${MAX_WAITING_TRANSACTIONS} transactions wait already`;
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
