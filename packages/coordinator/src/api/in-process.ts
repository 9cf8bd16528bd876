import type { Token } from '../store/access/tokens.ts';
import type { Endpoint, EndpointTypes, ParametersOf } from './endpoint.ts';
import type { Problem } from './problem.ts';

/** The visitor of the dashboard for whom the API is called. */
export type Caller = {
  readonly token: Token;
  /** Network address of the visitor; null: the connection is gone. */
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

/**
 * The answer to a call. `body` is the object that the endpoint returned, so the caller must not change it.
 */
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
 * rates and audit lines as a request over a socket. The caller passes a token, and passes
 * the body as an object, so the bound on the size of a JSON text does not apply.
 */
export interface ApiCalls {
  /**
   * Calls an endpoint.
   *
   * @param signal aborted when the visitor is gone
   */
  call<T extends EndpointTypes>(
    caller: Caller,
    endpoint: Endpoint<T>,
    parameters: ParametersOf<T>,
    sent: Sent & { readonly signal: AbortSignal },
  ): Promise<Called<T['answer']>>;
  /**
   * Finds the token that a visitor typed, and adds an audit line about the
   * login. A wrong token counts against the rate limit of the visitor's
   * address, as in a request over a socket, and gets an audit line too.
   *
   * @throws Problem `unauthorized`, `rate-limited`
   */
  login(secret: string, from: Login): Token;
  /**
   * Refuses a login with an invalid link. The refusal is counted and recorded like a
   * wrong token, so that guesses at links have the same rate limit as guesses at tokens.
   *
   * @throws Problem `unauthorized`, `rate-limited`
   */
  refuseLink(from: Login): never;
  /** Adds an audit line about a login by a link. */
  noteLogin(token: Token, from: Login): void;
  /** Adds an audit line about a logout. */
  noteLogout(token: Token, from: Login): void;
  /**
   * Adds an audit line about a request that the dashboard itself refuses. If refusals
   * come too fast, the line is dropped and counted: see `AuditTrail.addRefusal`.
   */
  noteRefusal(refusal: PageRefusal, from: Login): void;
}

/** A request that the dashboard refused without a call to the API. */
export type PageRefusal = {
  /** The visitor's token; null: the visitor is not logged in. */
  readonly token: Token | null;
  /** What the visitor tried: to open a page (`open`), to send a form (`send`), or to log in (`login`). */
  readonly action: 'open' | 'send' | 'login';
  /** Path of the page; '' for a login. */
  readonly path: string;
  readonly status: number;
  readonly message: string;
};

/** Network address of a visitor, and id of the request to the dashboard, for the audit line. */
export type Login = { readonly peer: string | null; readonly requestId: string };
