import type { Token } from '../store/access/tokens.ts';
import type { Endpoint, EndpointTypes, ParametersOf } from './endpoint.ts';
import type { Problem } from './problem.ts';

/** On whose behalf the dashboard calls the API: the visitor of a session. */
export type Caller = {
  readonly token: Token;
  /** Address of the visitor. */
  readonly peer: string | null;
};

/** The parts of a call in addition to the ids of the path and the parameters of the query. */
export type Sent = {
  readonly body?: unknown;
  /** By their names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** Ids and query parameters by name. A value that is null or undefined is left out. */
export type Parameters = Readonly<Record<string, string | number | null | undefined>>;

/** The answer to a call. Its body is the endpoint's own object, so the caller must not change it. */
export type Called<A = unknown> =
  | {
      readonly status: number;
      /** By their names in lower case. */
      readonly headers: Readonly<Record<string, string>>;
      readonly body: A;
      readonly problem: null;
    }
  | {
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly problem: Problem;
    };

/**
 * The API for the pages of this process. A call has the same validation, messages, scopes,
 * rates and audit lines as a request over a socket. Only its token comes from the caller, and
 * its body is passed as an object. The bound on the size of a JSON text does not apply to it.
 */
export interface ApiCalls {
  /** @param signal aborted when the visitor is gone */
  call<T extends EndpointTypes>(
    caller: Caller,
    endpoint: Endpoint<T>,
    parameters: ParametersOf<T>,
    sent: Sent & { readonly signal: AbortSignal },
  ): Promise<Called<T['answer']>>;
  /**
   * Finds the token that a visitor typed. The limits and audit lines are those of a request with this token.
   *
   * @throws Problem `unauthorized`, `rate-limited`
   */
  login(secret: string, from: Login): Token;
  /**
   * Refuses a login with an invalid link. It counts and is recorded as
   * a wrong token is, so that a guesser of links meets the same limit.
   *
   * @throws Problem `unauthorized`, `rate-limited`
   */
  refuseLink(from: Login): never;
  /** Writes the audit line of a login by a link. */
  noteLogin(token: Token, from: Login): void;
  /** Writes the audit line of a logout. */
  noteLogout(token: Token, from: Login): void;
  /**
   * Writes or counts the audit line of a request that the
   * dashboard refuses itself: see {@link AuditTrail.addRefusal}.
   */
  noteRefusal(refusal: PageRefusal, from: Login): void;
}

/** A request that the dashboard refused. */
export type PageRefusal = {
  /** Null: the visitor is not logged in. */
  readonly token: Token | null;
  /** `open` a page, `send` a form, or `login`. */
  readonly action: 'open' | 'send' | 'login';
  /** Path of the page; '' for the login. */
  readonly path: string;
  readonly status: number;
  readonly message: string;
};

/** Facts of a request to the dashboard for the audit trail. */
export type Login = { readonly peer: string | null; readonly requestId: string };
