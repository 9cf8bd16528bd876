import type { Kysely } from 'kysely';
import type { Database } from './schema.ts';

/** A parameter of a hand-written statement. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/**
 * The effect of a statement for one row of parameters. `id`: that of the inserted row, in a table that gives ids; it says
 * nothing where nothing was inserted.
 */
export type RowOutcome = { readonly changes: number; readonly id: number };

/** One statement for many rows of parameters, in their order. */
export type SqlStep = { readonly sql: string; readonly rows: readonly (readonly SqlValue[])[] };

/**
 * The database. It writes on one thread and reads on others: a wait for a disk, or for a lock of another
 * program, never holds the caller's thread, and a write never delays a read. There is one writer at a time.
 * Transactions queue in memory, so those of the recorder and of a long declaration never interleave.
 */
export interface Store {
  /**
   * Reads on a worker thread with a connection of its own; it sees committed data only. A query cannot be
   * interrupted, so each query must be bounded (a page, a window of time).
   *
   * @throws StoreError `store-overloaded` when too many reads wait
   */
  readonly read: Kysely<Database>;
  /**
   * As `read`, on a thread that answers no pages and no requests of the API: for work that must not wait
   * behind them. The first query starts the thread.
   */
  readonly work: Kysely<Database>;
  /**
   * Runs `work` inside BEGIN IMMEDIATE … COMMIT.
   *
   * When `work` throws, or when a statement or the COMMIT fails, everything is rolled back, no `onCommit`
   * task runs, and the error is passed on. `work` may await: each statement is a message to the writing
   * thread, and the next transaction starts after this one. `work` must not start another transaction and
   * wait for it: it would wait for itself.
   *
   * @throws StoreError for failures of the database; `store-overloaded` when too many transactions wait;
   *   `retryable` says whether a later try may succeed
   */
  transaction<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T>;
  /** As {@link transaction}, for what people declare and write: {@link declarations} counts it. */
  declare<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T>;
  /**
   * How many transactions of {@link declare} have ended in this process. What was read before the last one may have been
   * withdrawn by it.
   */
  readonly declarations: number;
  /**
   * Runs a whole transaction in one message: all steps and the commit, or nothing. It is for the recorder: it
   * goes before all waiting transactions, and is never refused because of their number.
   *
   * @returns for each step the outcomes of its rows, which are made when they are asked for
   * @throws StoreError for failures of the database; `store-unanswered` when the commit is nevertheless
   *   durable
   */
  commit(steps: readonly SqlStep[]): Promise<readonly Iterable<RowOutcome>[]>;
  /** Closes the store. Earlier requests are finished first; later requests fail with `store-closed`. */
  close(): Promise<void>;
}

/**
 * Statements inside a transaction; refused after its end. As in PostgreSQL, a failed statement fails the
 * whole transaction, even when its error is caught.
 */
export interface Transaction {
  /** Query builder on the writing connection. */
  readonly db: Kysely<Database>;
  /** Runs one writing statement for many rows of parameters, in one message. */
  runEach(sql: string, rows: readonly (readonly SqlValue[])[]): Promise<readonly RowOutcome[]>;
  /** The rows of one statement. */
  query<R>(sql: string, parameters?: readonly SqlValue[]): Promise<R[]>;
  /**
   * Registers a task that runs after the commit, in order of registration, before the next transaction
   * starts. It must not throw. Tasks run synchronously, one after the other. The event loop gets a turn
   * between two tasks only after they have held the thread for 10 ms (thousands of tasks, after a long
   * declaration).
   */
  onCommit(task: () => void): void;
}
