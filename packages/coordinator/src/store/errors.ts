import type { StoreErrorCode } from '@svc/shared/error-codes.ts';
import { SvcError } from '@svc/shared/errors.ts';

export type { StoreErrorCode };

const RETRYABLE: ReadonlySet<StoreErrorCode> = new Set([
  'store-full',
  'store-busy',
  'store-io',
  'store-overloaded',
  'store-reader-lost',
  'store-writer-lost',
]);

/** A failure of the database. `retryable`: the same call may succeed later. */
export class StoreError extends SvcError {
  declare readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: { cause?: unknown }) {
    super(code, message, options);
  }

  get retryable(): boolean {
    return RETRYABLE.has(this.code);
  }
}

/** The part of an SQLite error that crosses threads. */
export type SqliteFailure = { message: string; errcode: number };

/**
 * Error codes by primary result code of SQLite (https://www.sqlite.org/rescode.html). All other result codes
 * give `store-error`.
 */
const CODE_OF: ReadonlyMap<number, StoreErrorCode> = new Map([
  [5, 'store-busy'],
  [6, 'store-busy'],
  [8, 'store-readonly'],
  [10, 'store-io'],
  [11, 'store-corrupt'],
  [13, 'store-full'],
  [14, 'store-io'],
  // SQLITE_PROTOCOL: another program keeps the lock on the journal's index, and SQLite gave up after 10 s.
  [15, 'store-busy'],
  [19, 'store-constraint'],
  [26, 'store-corrupt'],
]);

/** What the operator can do about the error. */
const ADVICE: Partial<Record<StoreErrorCode, string>> = {
  'store-busy': 'end the program that locks it',
  'store-full': 'make room on its disk',
};

/**
 * Returns the error of a write by a coordinator that does not lead the shard any more, or whose last writes
 * the database has lost. Nothing was written.
 */
export function notLeading(cause?: unknown): StoreError {
  const message =
    'another coordinator leads the shard, or the database has lost the last writes of this one: nothing was written';
  return new StoreError('not-leading', message, cause === undefined ? {} : { cause });
}

/**
 * Returns the error for a database with migrations that this version does not know.
 *
 * @param which the names of these migrations; '': they were not read
 */
export function newerError(database: string, which: string, cause?: unknown): StoreError {
  const named = which === '' ? '' : ` (${which})`;
  const message = `${database} was written by a newer version of svc${named}: start that version or a later one`;
  return new StoreError('store-newer', message, cause === undefined ? {} : { cause });
}

export function closedError(): StoreError {
  return new StoreError('store-closed', 'the database is closed');
}

export function isSqliteFailure(error: unknown): error is Error & SqliteFailure {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number';
}

/** Whether a statement failed because another program locked the database for too long. */
export function isBusy({ errcode }: SqliteFailure): boolean {
  return CODE_OF.get(errcode & 0xff) === 'store-busy';
}

/**
 * Returns the StoreError for an SQLite error. Its message is safe to log, because SQLite's messages name
 * files, tables and columns, and contain no values of rows.
 */
export function storeErrorOf(failure: SqliteFailure, cause?: unknown): StoreError {
  // The low byte of the error code is the primary result code; the other bytes extend it.
  return storeError(CODE_OF.get(failure.errcode & 0xff) ?? 'store-error', failure.message, cause);
}

/**
 * Name of the constraint that refuses writes of a coordinator that may not write the shard, see
 * `shard-lease.ts`.
 */
const FENCE = 'not_leading';

/**
 * Returns the error with this code. If the operator can do something about it, the message says what. If the
 * fence of a shard refused the write, the code is `not-leading` instead.
 */
export function storeError(code: StoreErrorCode, message: string, cause?: unknown): StoreError {
  if (code === 'store-constraint' && message.includes(FENCE)) return notLeading(cause);
  const advice = ADVICE[code] === undefined ? '' : `: ${ADVICE[code]}`;
  return new StoreError(code, `database: ${message}${advice}`, cause === undefined ? {} : { cause });
}
