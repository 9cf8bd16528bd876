import type { Token } from '../store/access/tokens.ts';
import type { Endpoint, EndpointTypes, ParametersOf } from './endpoint.ts';
import type { Problem } from './problem.ts';

/** The visitor for whom the dashboard calls the API. */
export type Caller = {
  readonly token: Token;
  /** Address of the visitor. */
  readonly peer: string | null;
};

/** Body and headers of a call. */
export type Sent = {
  readonly body?: unknown;
  /** Headers by name in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** Ids and query parameters by name. A value that is null or undefined is left out. */
export type Parameters = Readonly<Record<string, string | number | null | undefined>>;

/** The answer to a call. The body is the endpoint's own object, which the caller must not change. */
export type Called<A = unknown> =
  | {
      readonly status: number;
      /** Headers by name in lower case. */
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
 * rates and audit lines as a request over a socket. The caller passes the token, and
 * passes the body as an object, so the bound on the size of a JSON text does not apply.
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
   * Finds the token that a visitor typed. The call has the
   * rate limits and audit lines of a request with this token.
   *
   * @throws Problem `unauthorized`, `rate-limited`
   */
  login(secret: string, from: Login): Token;
  /**
   * Refuses a login with an invalid link. The refusal is counted and recorded like a
   * wrong token, so that guessing links has the same rate limit as guessing tokens.
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
  /** The visitor's token; null: the visitor is not logged in. */
  readonly token: Token | null;
  /** What the visitor tried: to open a page (`open`), to send a form (`send`), or to log in (`login`). */
  readonly action: 'open' | 'send' | 'login';
  /** Path of the page; '' for the login. */
  readonly path: string;
  readonly status: number;
  readonly message: string;
};

/** Address of the visitor and id of the request, for the audit line of a request to the dashboard. */
export type Login = { readonly peer: string | null; readonly requestId: string };
