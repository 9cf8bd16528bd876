import type { Kysely } from 'kysely';
import type { Database } from './schema.ts';

/** What a parameter of a hand-written statement may be. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** What a statement did for one row of parameters. */
export type RowOutcome = { readonly changes: number; readonly lastInsertRowid: number };

/** One statement for many rows of parameters, in their order. */
export type SqlStep = { readonly sql: string; readonly rows: readonly (readonly SqlValue[])[] };

/**
 * The database. It writes on one thread and reads on another: no wait for a disk or for a lock of
 * another program holds the caller's thread, and no write delays a read. One writer at a time:
 * transactions queue behind each other in memory, so the recorder and a long declaration never interleave.
 */
export interface Store {
  /**
   * Reads on a worker thread with a connection of its own; sees committed data only. A query cannot be
   * interrupted, so each must be bounded (a page, a window of time).
   *
   * @throws StoreError `store-overloaded` when too many wait
   */
  readonly read: Kysely<Database>;
  /**
   * Runs `work` inside BEGIN IMMEDIATE … COMMIT. When it throws, or a statement or COMMIT fails, everything
   * is rolled back, no `onCommit` task runs, and the error is passed on. `work` may await (each statement
   * is a message to the writing thread); the next transaction starts after it. `work` must not ask for
   * another transaction and wait for it: that would wait for itself.
   *
   * @throws StoreError for what the database could not do, `store-overloaded` when too many transactions wait;
   *   `retryable` says whether it may work later
   */
  transaction<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T>;
  /**
   * A whole transaction in one message: runs all steps and commits, or leaves nothing. For the recorder: it
   * goes before the transactions that wait, however many they are, and is never refused because of them.
   *
   * @returns per step what it did for each of its rows
   * @throws StoreError for what the database could not do; `store-unanswered` where the commit stands all the same
   */
  commit(steps: readonly SqlStep[]): Promise<readonly (readonly RowOutcome[])[]>;
  /** Waits for what was asked for before; every later request fails with `store-closed`. */
  close(): Promise<void>;
}

/**
 * Statements inside a transaction; refused once it has ended. As in PostgreSQL, a statement that fails
 * fails the transaction, also where its error is caught.
 */
export interface Transaction {
  /** Query builder on the writing connection. */
  readonly db: Kysely<Database>;
  /** Runs one statement that writes, for many rows of parameters, in one message. */
  runEach(sql: string, rows: readonly (readonly SqlValue[])[]): Promise<readonly RowOutcome[]>;
  /** The rows of one statement. */
  query<R>(sql: string, parameters?: readonly SqlValue[]): Promise<R[]>;
  /**
   * Runs after the commit, in order of registration, before the next transaction starts. Must not throw.
   * Tasks run synchronously, one after the other; only when they have held the thread for 10 ms
   * (thousands of them, after a long declaration) does the event loop get a turn between two.
   */
  onCommit(task: () => void): void;
}
