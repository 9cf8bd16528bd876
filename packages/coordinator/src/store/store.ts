import type { Kysely } from 'kysely';
import type { Database } from './schema.ts';

/** A parameter of a hand-written statement. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/**
 * The effect of a statement for one row of parameters. `id` is the id of the inserted row, where the
 * statement ends with `RETURNING id`. `id` has no meaning if no row was inserted.
 */
export type RowOutcome = { readonly changes: number; readonly id: number };

/**
 * One statement for many rows of parameters, in their order. A parameter is a `?`. Among the columns of a
 * SELECT, PostgreSQL cannot infer the type of a parameter, so it is written `?::bigint` or `?::bytea` there.
 */
export type SqlStep = { readonly sql: string; readonly rows: readonly (readonly SqlValue[])[] };

/**
 * The database. It writes on one thread and reads on others. So a wait for the disk, or for another program's
 * lock, never holds the caller's thread, and a write never delays a read. One transaction is written at a
 * time; the others wait in memory.
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
   * The same as `read`, on another thread, for work that must not wait behind the reads of pages and of the
   * API. The first query starts the thread.
   */
  readonly work: Kysely<Database>;
  /**
   * Runs `work` inside BEGIN IMMEDIATE … COMMIT.
   *
   * When `work` throws, or a statement or the COMMIT fails, the transaction is rolled back, no `onCommit`
   * task runs, and the error is passed on. Each statement is a message to the writing thread. The next
   * transaction starts after this one, so `work` must not wait for another transaction: it would wait for
   * ever.
   *
   * @throws StoreError for failures of the database; `store-overloaded` when too many transactions wait;
   *   `retryable` says whether a later try may succeed
   */
  transaction<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T>;
  /**
   * The same as {@link transaction}, for changes that people declare or write: {@link declarations} counts
   * it.
   */
  declare<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T>;
  /**
   * How many transactions of {@link declare} have ended in this process. After each, data that was read
   * before may be out of date.
   */
  readonly declarations: number;
  /**
   * Runs a whole transaction in one message: all steps and the commit, or nothing. Only the recorder and the
   * lease of a leader call it. The transaction runs before all waiting ones, and is never refused because of their number.
   *
   * @returns for each step the outcomes of its rows, made while the caller iterates
   * @throws StoreError for failures of the database; `store-unanswered` when the commit is nevertheless
   *   durable
   */
  commit(steps: readonly SqlStep[]): Promise<readonly Iterable<RowOutcome>[]>;
  /**
   * Closes the store when the transactions that were started before have ended. Later ones, and all waiting
   * reads, fail with `store-closed`.
   */
  close(): Promise<void>;
}

/** An open database that is only read. */
export type StoreReading = Pick<Store, 'read' | 'close'>;

/**
 * The statements of one transaction. They are refused after its end. As in PostgreSQL, a failed statement
 * fails the whole transaction, even when its error is caught.
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
