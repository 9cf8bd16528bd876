import type { Kysely } from 'kysely';
import type { Database } from './schema.ts';

/** A parameter of a hand-written statement. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/**
 * The effect of a statement for one row of parameters. `id` is the id of the inserted row if the statement
 * ends with `RETURNING id`. If no row was inserted, `id` has no meaning.
 */
export type RowOutcome = { readonly changes: number; readonly id: number };

/**
 * One statement for many rows of parameters, which run in their order. A `?` is a
 * parameter. Where PostgreSQL cannot infer the type of a parameter, as among the columns
 * of a SELECT, the parameter is written with its type, such as `?::bigint`.
 */
export type SqlStep = { readonly sql: string; readonly rows: readonly (readonly SqlValue[])[] };

/**
 * The database. It writes on one connection and reads on others. A wait for the disk, or for another
 * program's lock, does not block the caller's thread (except with `storeInProcess`), and a write does not delay
 * a read. One transaction is written at a time. Further transactions wait in memory.
 */
export interface Store {
  /**
   * Reads on connections of its own (in SQLite: on a worker thread), and sees committed data only. The caller
   * cannot interrupt a query, so each query must be bounded (a page, a window of time).
   *
   * @throws StoreError `store-overloaded` when too many reads wait, or PostgreSQL takes too long for one
   */
  readonly read: Kysely<Database>;
  /**
   * The same as `read`, on other connections (in SQLite: on another thread, which the first query starts),
   * for work that must not wait behind the reads of pages and of the API.
   */
  readonly work: Kysely<Database>;
  /**
   * Runs `work` in a transaction.
   *
   * If `work` throws, or a statement or the COMMIT fails, the transaction is rolled back,
   * no `onCommit` task runs, and the error is passed on. Each statement is a message to the
   * connection that writes. The next transaction starts after this one. So `work` must not
   * wait for another transaction: it would wait for ever. If the writing thread of SQLite dies
   * during the COMMIT, the call fails with `store-writer-lost`, and the transaction may be durable.
   *
   * @throws StoreError for failures of the database; `store-overloaded` when too many transactions wait;
   *   `retryable` says whether a later try may succeed
   */
  transaction<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T>;
  /**
   * The same as {@link transaction}, for changes that people declare or write.
   * {@link declarations} counts such transactions.
   */
  declare<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T>;
  /**
   * How many transactions of {@link declare} have ended in this process. When the number
   * has grown, data that was read before may be out of date.
   */
  readonly declarations: number;
  /**
   * Runs a whole transaction in one message: all steps and the commit, or nothing. The transaction overtakes
   * transactions that wait, but after each commit one of them has its turn. It is never refused because many
   * wait. So it is only for the recorder, for leases and announcements of coordinators, and for work on a whole
   * database (copying it, sealing its secrets again).
   *
   * @returns for each step the outcomes of its rows, made while the caller iterates
   * @throws StoreError for failures of the database;
   *   `store-unanswered` when the commit is nevertheless durable; `store-writer-lost` as for {@link transaction}
   */
  commit(steps: readonly SqlStep[]): Promise<readonly Iterable<RowOutcome>[]>;
  /**
   * Closes the store. Transactions of calls that were made before run first. Later ones, and all waiting
   * reads, fail with `store-closed`.
   */
  close(): Promise<void>;
}

/** An open database that is only read. `openReading` opens one that reads an SQLite file on the calling thread. */
export type StoreReading = Pick<Store, 'read' | 'close'>;

/**
 * The statements of one transaction. After the end of the transaction, statements are refused. As in
 * PostgreSQL, a failed statement makes the whole transaction fail, even if its error is caught.
 */
export interface Transaction {
  /** Query builder on the writing connection. */
  readonly db: Kysely<Database>;
  /** Runs one writing statement for many rows of parameters, in one message. */
  runEach(sql: string, rows: readonly (readonly SqlValue[])[]): Promise<readonly RowOutcome[]>;
  /** Runs one statement, and returns its rows. */
  query<R>(sql: string, parameters?: readonly SqlValue[]): Promise<R[]>;
  /**
   * Registers a task that runs after the commit and before the next transaction starts. It must
   * not throw. Tasks run synchronously, one after the other, in the order of their
   * registration. The event loop gets a turn between two tasks only after tasks have held the
   * thread for 10 ms (thousands of tasks, after a long declaration).
   */
  onCommit(task: () => void): void;
}
