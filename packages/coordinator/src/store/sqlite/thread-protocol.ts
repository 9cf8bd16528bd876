import type { MessagePort } from 'node:worker_threads';
import type { SqliteFailure } from '../errors.ts';
import type { StatementOutcome } from '../one-connection.ts';
import type { SqlStep } from '../store.ts';
import type { PackedWritten } from './statements.ts';

/** Data that a reading thread is started with. */
export type ReaderData = { readonly path: string };

export type ReaderRequest = { readonly sql: string; readonly parameters: readonly unknown[] };

/** Data that the writing thread is started with. */
export type WriterData = {
  readonly path: string;
  /**
   * One Int32: the number of durable commits. If the thread dies between a commit and its answer, the main
   * thread learns from this number that the transaction was committed.
   */
  readonly commits: SharedArrayBuffer;
};

/**
 * A request to the writing thread. Rows of parameters are nested arrays, which cost both threads less than a
 * flat array or JSON (measured, decision 0140).
 */
export type WriterRequest =
  | { readonly kind: 'run'; readonly sql: string; readonly parameters: readonly unknown[] }
  /** One statement for many rows. */
  | { readonly kind: 'each'; readonly sql: string; readonly rows: SqlStep['rows'] }
  | { readonly kind: 'begin' | 'commit' | 'rollback' }
  /** A whole transaction. */
  | { readonly kind: 'script'; readonly steps: readonly SqlStep[] }
  /** Closes the connection. The last connection to a file moves the journal into the database file. */
  | { readonly kind: 'close' };

export type WriterAnswer = StatementOutcome | PackedWritten | PackedWritten[] | null;

/** A message of the writing thread that answers no request: a checkpoint has failed. */
export type WriterNotice = { readonly checkpointFailed: SqliteFailure };

/** A request to a thread of the store. Requests are answered in their order. */
export type Numbered<Request> = { readonly id: number; readonly request: Request };

export type Reply<Answer> =
  | { readonly id: number; readonly ok: true; readonly answer: Answer }
  | { readonly id: number; readonly ok: false; readonly failure: SqliteFailure };

/** The port at which a thread answers requests: its `parentPort`. In-process, it is one end of a channel. */
export type ServedPort = Pick<MessagePort, 'postMessage'> & {
  on<Message>(event: 'message', listener: (message: Message) => void): unknown;
};

/** Returns the reply to one message. If `answer` throws, the reply has the error. */
export function replyTo<Request, Answer>(
  { id, request }: Numbered<Request>,
  answer: (request: Request) => Answer,
): Reply<Answer> {
  try {
    return { id, ok: true, answer: answer(request) };
  } catch (error) {
    return { id, ok: false, failure: failureOf(error) };
  }
}

/**
 * Returns the part of an SQLite error that crosses threads. Any other error gets the code of SQLITE_ERROR.
 */
export function failureOf(error: unknown): SqliteFailure {
  const { message = String(error), errcode = 1 } = error as { message?: string; errcode?: number };
  return { message, errcode };
}
