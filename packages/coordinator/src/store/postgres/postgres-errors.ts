import { messageOf } from '@svc/shared/errors.ts';
import { StoreError, type StoreErrorCode, storeError } from '../errors.ts';

/** Codes of https://www.postgresql.org/docs/current/errcodes-appendix.html; two characters: a whole class. */
const CODE_OF: ReadonlyMap<string, StoreErrorCode> = new Map([
  ['23', 'store-constraint'],
  ['25006', 'store-readonly'],
  // Transactions in each other's way, waits that were too long, too many connections.
  ['40', 'store-busy'],
  ['55P03', 'store-busy'],
  ['57014', 'store-busy'],
  ['53', 'store-busy'],
  ['53100', 'store-full'],
  ['58', 'store-io'],
  ['XX001', 'store-corrupt'],
  ['XX002', 'store-corrupt'],
]);

/** The server ends its connections, or takes none. */
const LOST = /^(?:08|57P0)/;
/** Errors of this class name values in their message. */
const ABOUT_VALUES = /^22/;

function stateOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null;
  // Errors of sockets have names as codes: ECONNRESET.
  return /^[0-9A-Z]{5}$/.test(error.code) && 'severity' in error ? error.code : null;
}

/** Whether the connection is of no use after this error. */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof StoreError) return false;
  const state = stateOf(error);
  return state === null || LOST.test(state);
}

/** Whether the server takes no writes any more, because another one has taken its place. */
export function isReadOnly(error: unknown): boolean {
  return stateOf(error) === '25006';
}

/** PostgreSQL's messages name tables and columns. Those that also name values are left out here. */
export function postgresErrorOf(error: unknown, does: 'reads' | 'writes'): StoreError {
  if (error instanceof StoreError) return error;
  const state = stateOf(error);
  if (isConnectionLost(error) || (does === 'writes' && isReadOnly(error))) return lostError(error, does);
  const code = CODE_OF.get(state ?? '') ?? CODE_OF.get(state?.slice(0, 2) ?? '') ?? 'store-error';
  const message = ABOUT_VALUES.test(state ?? '') ? `a value is refused (${state})` : messageOf(error);
  return storeError(code, message, error);
}

/** The connection has ended, or none can be made. */
export function lostError(cause: unknown, does: 'reads' | 'writes'): StoreError {
  const code = does === 'writes' ? 'store-writer-lost' : 'store-reader-lost';
  return new StoreError(code, `the connection that ${does} the database ended: ${messageOf(cause)}`, {
    cause,
  });
}
