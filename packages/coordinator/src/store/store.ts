import type { DatabaseSync } from 'node:sqlite';
import type { Kysely } from 'kysely';
import type { Database } from './schema.ts';

/** What a statement of SQL may be given. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** One statement for many rows: a part of a transaction that needs no answer before it goes on. */
export type SqlStep = { readonly sql: string; readonly rows: readonly (readonly SqlValue[])[] };

/** What a statement did for one row. */
export type Written = { readonly changes: number; readonly lastInsertRowid: number };

/**
 * The database. One writer at a time: transactions queue behind each other (in memory, not on
 * SQLite's lock), so the recorder and a long declaration never interleave.
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
   * Runs `work` inside BEGIN IMMEDIATE … COMMIT. When it throws or COMMIT fails everything is rolled
   * back, no `onCommit` task runs, and the error is passed on. `work` may await (a long declaration
   * yields to the event loop between chunks); the next transaction starts after it. `work` must not ask
   * for another transaction and wait for it: that would wait for itself.
   *
   * @throws StoreError for what the database could not do; `retryable` says whether it may work later
   */
  transaction<T>(work: (tx: Transaction) => T | Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface Transaction {
  /** Query builder on the writing connection, inside this transaction. */
  readonly db: Kysely<Database>;
  /** The writing connection itself, for prepared statements (the recorder). Never BEGIN or COMMIT on it. */
  readonly sqlite: DatabaseSync;
  /** Runs one statement for each of the rows, in their order. */
  runEach(sql: string, rows: readonly (readonly SqlValue[])[]): Promise<readonly Written[]>;
  /** Rows of one statement that is written by hand. */
  query<R>(sql: string, parameters?: readonly SqlValue[]): Promise<R[]>;
  /**
   * Runs after the commit, in order of registration, before the next transaction starts. Must not throw.
   * Tasks run synchronously, one after the other; only when they have held the thread for 10 ms
   * (thousands of them, after a long declaration) does the event loop get a turn between two.
   */
  onCommit(task: () => void): void;
}
