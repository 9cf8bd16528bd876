import type { Token } from '../store/access/tokens.ts';
import type { Endpoint, EndpointTypes, ParametersOf } from './endpoint.ts';
import type { Problem } from './problem.ts';

/** Who calls the API inside of this process: somebody whose session the caller has found. */
export type Caller = {
  readonly token: Token;
  /** Address of the visitor. */
  readonly peer: string | null;
};

/** What a call sends beside the ids of the path and the parameters of the query. */
export type Sent = {
  readonly body?: unknown;
  /** By their names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** Ids and query parameters by name. Those that are null or undefined are left out. */
export type Parameters = Readonly<Record<string, string | number | null | undefined>>;

/** The answer to a call. Its body is the value that the endpoint has made: nobody may change it. */
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
 * The API for the pages of this process. A call is a request like any other: the same validation,
 * messages, scopes, rates and audit lines. Only its token comes from the caller, and bodies are
 * passed as they are, not as text: the bound on the size of a text does not apply to them.
 */
export interface ApiCalls {
  /** @param signal aborted when nobody waits for the answer any more */
  call<T extends EndpointTypes>(
    caller: Caller,
    endpoint: Endpoint<T>,
    parameters: ParametersOf<T>,
    sent: Sent & { readonly signal: AbortSignal },
  ): Promise<Called<T['answer']>>;
  /**
   * Finds the token that somebody typed. Limits and audit lines are those of a request with it.
   *
   * @throws Problem `unauthorized`, `rate-limited`
   */
  login(secret: string, from: Login): Token;
  /**
   * Refuses a login with a link that opens nothing, as {@link login} refuses a wrong token.
   *
   * @throws Problem `unauthorized`, `rate-limited`
   */
  refuseLink(from: Login): never;
  /** Writes the audit line of a login that a link has opened. */
  noteLogin(token: Token, from: Login): void;
  /** Writes the audit line of a session that its visitor has ended. */
  noteLogout(token: Token, from: Login): void;
  /**
   * Writes the audit line of a request that the dashboard refuses
   * itself, or counts it, as {@link AuditTrail.addRefusal}.
   */
  noteRefusal(refusal: PageRefusal, from: Login): void;
}

/** What the dashboard refused, and to whom. */
export type PageRefusal = {
  /** Null: nobody is logged in. */
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
