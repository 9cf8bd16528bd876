import { messageOf } from '@svc/shared/errors.ts';
import { newerError, StoreError, type StoreErrorCode, storeError } from '../errors.ts';

/**
 * The name of a setting that no server has. In a database that a newer version of svc has migrated, the beginning of a
 * transaction asks for this setting, and PostgreSQL's error names it.
 */
export const NEWER = 'svc.was_migrated_by_a_newer_version';

/**
 * Our codes for the codes of https://www.postgresql.org/docs/current/errcodes-appendix.html. A key with two characters
 * stands for all codes of a class that have no key of their own.
 */
const CODE_OF: ReadonlyMap<string, StoreErrorCode> = new Map([
  // A value that its column cannot hold, and a violated constraint.
  ['22', 'store-constraint'],
  ['23', 'store-constraint'],
  ['25006', 'store-readonly'],
  // Conflicts between transactions, and waits for locks that took too long.
  ['40', 'store-busy'],
  ['55P03', 'store-busy'],
  // A statement that took too long or that a person cancelled, and too few resources.
  ['57014', 'store-overloaded'],
  ['53', 'store-overloaded'],
  ['53100', 'store-full'],
  ['58', 'store-io'],
  ['XX001', 'store-corrupt'],
  ['XX002', 'store-corrupt'],
]);

/**
 * Codes of a lost connection: the server ends all connections, or only this one (25P03:
 * its transaction was idle for too long), or accepts no more (53300: it has too many).
 */
const LOST = /^(?:08|57P0|25P03|53300)/;
/** Errors of this class may have values in their messages. */
const ABOUT_VALUES = /^22/;

function stateOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  // The codes of socket errors are names, such as ECONNRESET.
  return /^[0-9A-Z]{5}$/.test(error.code) && 'severity' in error ? error.code : null;
}

/** Whether the connection can no longer be used after this error. False for an error that is translated already. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof StoreError) return false;
  const state = stateOf(error);
  return state === null || LOST.test(state);
}

/**
 * Whether a write was refused because the session is read-only. On the connection that writes, this means that another
 * server has replaced this one. Connections that read are always read-only.
 */
export function isReadOnly(error: unknown): boolean {
  return stateOf(error) === '25006';
}

/**
 * The StoreError for an error of PostgreSQL. PostgreSQL's messages name tables
 * and columns. A message that also contains values is replaced by its code.
 */
export function postgresErrorOf(error: unknown, does: 'reads' | 'writes'): StoreError {
  if (error instanceof StoreError) return error;
  const state = stateOf(error);
  if (messageOf(error).includes(NEWER)) return newerError('the PostgreSQL database', '', error);
  if (isConnectionLost(error) || (does === 'writes' && isReadOnly(error))) return lostError(error, does);
  const code = CODE_OF.get(state ?? '') ?? CODE_OF.get(state?.slice(0, 2) ?? '') ?? 'store-error';
  const message = ABOUT_VALUES.test(state ?? '') ? `a value is refused (${state})` : messageOf(error);
  return storeError(code, message, error);
}

/** The error for a connection that has ended, cannot be made, or reaches a server that is read-only. */
export function lostError(cause: unknown, does: 'reads' | 'writes'): StoreError {
  const code = does === 'writes' ? 'store-writer-lost' : 'store-reader-lost';
  return new StoreError(code, `the connection that ${does} the database ended: ${messageOf(cause)}`, {
    cause,
  });
}
