import { SvcError } from '@svc/shared/errors.ts';

export type ResolvedAddress = { address: string; family: 4 | 6 };

/**
 * Turns the host of an HTTP or TCP target into addresses, as the system would (hosts file, search list,
 * system servers) but without its pool of four threads: a name that never answers delays nobody else.
 */
export interface Resolver {
  /**
   * Addresses in the order in which they should be tried; never empty. IPv4 and IPv6 literals (with or
   * without brackets), the old numeric forms, `localhost` and names of the hosts file are answered
   * synchronously, everything else by a promise.
   *
   * @throws ResolveError (thrown or rejected) when there is no address; `signal.reason` when `signal` aborts.
   */
  resolve(host: string, signal?: AbortSignal): ResolvedAddress[] | Promise<ResolvedAddress[]>;
  /**
   * None of the name servers has answered anything since `since` (`performance.now()`), about whatever name: what was
   * not resolved until now says nothing about its target.
   */
  isSilentSince(since: number): boolean;
  /** Ends every lookup and closes the sockets. */
  close(): Promise<void>;
}

/** Why a name has no address. The codes are those of the system's resolver where it has one. */
export type ResolveErrorCode =
  /** NXDOMAIN: the name does not exist. */
  | 'ENOTFOUND'
  /** The name exists but has neither A nor AAAA records. */
  | 'ENODATA'
  /** The servers answered SERVFAIL, or refused, or something that is no answer. */
  | 'ESERVFAIL'
  /** None of our name servers can be reached: this says nothing about the name. */
  | 'EUNREACHABLE'
  /** No server answered in time. */
  | 'ETIMEOUT'
  /** Not a host name at all. */
  | 'EBADNAME'
  /** The resolver was closed. */
  | 'ECANCELLED';

/** The message is fit for a result: `cannot resolve db.example.com: no such name (NXDOMAIN)`. */
export class ResolveError extends SvcError {
  declare readonly code: ResolveErrorCode;

  constructor(code: ResolveErrorCode, host: string, why: string, options?: { cause?: unknown }) {
    super(code, `cannot resolve ${host.length > 100 ? `${host.slice(0, 100)}…` : host}: ${why}`, options);
  }
}
