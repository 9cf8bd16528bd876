import type { SqliteFailure } from './errors.ts';
import type { PackedWritten, StatementOutcome } from './statements.ts';
import type { SqlStep } from './store.ts';

/** Data that the writing thread is started with. */
export type WriterData = {
  readonly path: string;
  /**
   * One Int32: the number of commits that this thread has made durable. When the thread dies between a commit
   * and its answer, the main thread learns from it that the transaction was committed.
   */
  readonly commits: SharedArrayBuffer;
};

/**
 * Rows of parameters cross as plain nested arrays. Measured against one flat array and against JSON, these
 * cost the two threads the least (decision 0140).
 */
export type WriterRequest =
  /** A statement outside `begin` … `commit`, for migrations. */
  | { readonly kind: 'run'; readonly sql: string; readonly parameters: readonly unknown[] }
  | { readonly kind: 'begin' }
  /** Inside a transaction. */
  | { readonly kind: 'statement'; readonly sql: string; readonly parameters: readonly unknown[] }
  /** Inside a transaction: one statement for many rows. */
  | { readonly kind: 'each'; readonly sql: string; readonly rows: SqlStep['rows'] }
  | { readonly kind: 'commit' }
  | { readonly kind: 'rollback' }
  /** A whole transaction. */
  | { readonly kind: 'script'; readonly steps: readonly SqlStep[] }
  /** Closes the connection. SQLite moves the journal into the file then. */
  | { readonly kind: 'close' };

export type WriterAnswer = StatementOutcome | PackedWritten | PackedWritten[] | null;

/** A message of the writing thread that answers no request. */
export type WriterNotice = { readonly checkpointFailed: SqliteFailure };
