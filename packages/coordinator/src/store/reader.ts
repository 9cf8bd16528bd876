import type { Logger } from '@svc/shared/log.ts';
import { closedError, StoreError } from './errors.ts';
import type { ReaderRequest } from './read-protocol.ts';
import { StoreThread } from './store-thread.ts';
import type { StoreWorkers } from './store-workers.ts';

/** Requests that may wait for the reading thread; a page asks for a few at a time. */
export const MAX_WAITING_READS = 1_000;

type Rows = unknown[];

/**
 * The main thread's side of the reading thread. The first request starts the thread; a later one restarts it
 * if it died.
 */
export class Reader {
  readonly #path: string;
  readonly #workers: StoreWorkers;
  readonly #log: Logger;
  #thread: StoreThread<ReaderRequest, Rows> | null = null;
  #closed = false;

  constructor(path: string, workers: StoreWorkers, log: Logger) {
    this.#path = path;
    this.#workers = workers;
    this.#log = log;
  }

  /** @throws StoreError `store-overloaded`, `store-closed`, `store-reader-lost`, or what SQLite answered */
  async query(sql: string, parameters: readonly unknown[]): Promise<Rows> {
    if (this.#closed) throw closedError();
    if (this.#thread === null || this.#thread.hasEnded) this.#thread = this.#start();
    if (this.#thread.waiting >= MAX_WAITING_READS)
      throw new StoreError(
        'store-overloaded',
        `the database has ${MAX_WAITING_READS} waiting reads, the most it takes: try again later`,
      );
    return this.#thread.ask({ sql, parameters });
  }

  /**
   * Closes the reader. Waiting queries are rejected with `store-closed`. A running query cannot be
   * interrupted, so this waits for it.
   */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#thread?.end(closedError);
  }

  #start(): StoreThread<ReaderRequest, Rows> {
    return new StoreThread({
      worker: this.#workers.reader({ path: this.#path }),
      name: 'store-reader',
      lost: () => new StoreError('store-reader-lost', 'the thread that reads the database ended'),
      log: this.#log,
    });
  }
}
