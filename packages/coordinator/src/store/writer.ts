import type { Logger } from '@svc/shared/log.ts';
import { closedError } from './errors.ts';
import { OpenTransaction } from './open-transaction.ts';
import type { StatementOutcome } from './statements.ts';
import type { RowOutcome, SqlStep } from './store.ts';
import type { StoreWorkers } from './store-workers.ts';
import { WriterThread } from './writer-thread.ts';

/**
 * The main thread's side of the writing thread. The first request starts the thread; a later one restarts it
 * if it died. The caller ensures that there is one transaction at a time.
 */
export class Writer {
  readonly #path: string;
  readonly #workers: StoreWorkers;
  readonly #log: Logger;
  #current: WriterThread | null = null;
  #closed = false;

  constructor(path: string, workers: StoreWorkers, log: Logger) {
    this.#path = path;
    this.#workers = workers;
    this.#log = log;
  }

  /** Begins a transaction, which holds the write lock; its `commit` or `rollBack` ends it. */
  async begin(): Promise<OpenTransaction> {
    const thread = this.#thread();
    await thread.begin();
    return new OpenTransaction(thread);
  }

  /** Runs the steps as one transaction. */
  async commit(steps: readonly SqlStep[]): Promise<Iterable<RowOutcome>[]> {
    return this.#thread().script(steps);
  }

  /** Runs a statement outside the transactions of `begin` and `commit`: for migrations. */
  async run(sql: string, parameters: readonly unknown[]): Promise<StatementOutcome> {
    return this.#thread().run(sql, parameters);
  }

  /** Closes the connection, which moves the journal into the file. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#current?.close();
  }

  #thread(): WriterThread {
    if (this.#closed) throw closedError();
    if (this.#current === null || this.#current.hasEnded)
      this.#current = new WriterThread(this.#path, this.#workers, this.#log);
    return this.#current;
  }
}
