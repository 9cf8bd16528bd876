import type { SqliteFailure } from './errors.ts';
import type { PackedWritten, StatementOutcome } from './statements.ts';
import type { SqlStep } from './store.ts';

/** What the writing thread is started with. */
export type WriterData = {
  readonly path: string;
  /**
   * One Int32: commits that this thread has made durable. When it dies between a commit and its answer,
   * this tells the main thread that the transaction stands.
   */
  readonly commits: SharedArrayBuffer;
};

/**
 * Rows of parameters cross as plain nested arrays: measured against one flat array and JSON, they cost
 * the two threads the least (decision 0140).
 */
export type WriterRequest =
  /** A statement of its own, outside `begin` … `commit`: migrations. */
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
  /** Closes the connection, which moves the journal into the file. */
  | { readonly kind: 'close' };

export type WriterAnswer = StatementOutcome | PackedWritten | PackedWritten[] | null;

/** What the writing thread says without being asked. */
export type WriterNotice = { readonly checkpointFailed: SqliteFailure };
