import { SvcError } from '@svc/shared/errors.ts';
import type { Family } from '../network/families.ts';

export type ResolvedAddress = { address: string; family: Family };

/**
 * Turns a host, for example that of an HTTP or TCP target, into addresses. It works
 * like the system's resolver (hosts file, search list, system servers), but does not use
 * Node's pool of four threads, so a name that never answers delays no other check.
 */
export interface Resolver {
  /**
   * Resolves a host to its addresses, in the order in which they should be tried. The list is never empty.
   *
   * It returns the addresses at once for IP literals (with or without brackets), the old numeric spellings
   * of IPv4 addresses, `localhost` and names below it, and names in the hosts file. For any other name it
   * returns a promise.
   *
   * @throws ResolveError (rejected) when no address is found
   * @throws SvcError (rejected) when the agent itself could not look the name up
   * @throws `signal.reason` (rejected) when `signal` aborts
   */
  resolve(host: string, signal?: AbortSignal): ResolvedAddress[] | Promise<ResolvedAddress[]>;
  /**
   * Whether the name servers answer no question at all. If
   * so, an unresolved name says nothing about its target.
   *
   * @param since start of a look-up that has no answer (`performance.now()`)
   */
  isSilentSince(since: number): boolean;
  /** Closes the sockets of the resolver. Look-ups that wait for an answer end with `ECANCELLED`. */
  close(): Promise<void>;
}

/**
 * Why no address was found. Where the system's resolver has a code for the same reason, this is that code.
 */
export type ResolveErrorCode =
  /** NXDOMAIN: the name does not exist. */
  | 'ENOTFOUND'
  /** The name exists but has neither A nor AAAA records. */
  | 'ENODATA'
  /**
   * No server knows the answer: each sent an error (such as SERVFAIL or REFUSED), a referral
   * or a malformed answer, or could not be reached. At least one has sent something.
   */
  | 'ESERVFAIL'
  /**
   * No name server of the agent can be reached, or none answers
   * about any name. This says nothing about the name.
   */
  | 'EUNREACHABLE'
  /** At least one server did not answer in time, and no other server knew the answer. */
  | 'ETIMEOUT'
  /** The text is not a host name. */
  | 'EBADNAME'
  /** The resolver was closed. */
  | 'ECANCELLED';

/**
 * No address was found for a host. The message may appear in a
 * result: `cannot resolve db.example.com: no such name (NXDOMAIN)`.
 */
export class ResolveError extends SvcError {
  declare readonly code: ResolveErrorCode;

  constructor(code: ResolveErrorCode, host: string, why: string, options?: { cause?: unknown }) {
    super(code, `cannot resolve ${host.length > 100 ? `${host.slice(0, 100)}…` : host}: ${why}`, options);
  }
}
