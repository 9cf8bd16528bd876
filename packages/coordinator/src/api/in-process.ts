import type { Token } from '../store/tokens.ts';

/** Who calls the API inside of this process: somebody whose session the caller has found. */
export type Caller = {
  readonly token: Token;
  /** Address of the visitor. */
  readonly peer: string | null;
};

/** What such a call gives to Hono beside the request. A request over a socket has Node's objects there instead. */
type CallEnvironment = { readonly svcCaller: Caller };

/** The caller of a request that was made in this process; null: the request came over a socket. */
export function callerOf(environment: unknown): Caller | null {
  const { svcCaller } = (environment ?? {}) as Partial<CallEnvironment>;
  return svcCaller ?? null;
}

export type ApiCall = {
  readonly method: string;
  /** Path with its query. */
  readonly path: string;
  /** Sent as JSON; left out: there is no body. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal?: AbortSignal;
};

export type ApiResponse = {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON; null: there is no body. */
  readonly body: unknown;
};

/**
 * The API for the pages of this process. A call is a request like any other: the same validation, messages, scopes,
 * limits and audit lines. Only its token comes from the caller, not from a header.
 */
export interface ApiCalls {
  call(caller: Caller, call: ApiCall): Promise<ApiResponse>;
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
  /** Writes the audit line of a request that the dashboard refuses itself, or counts it, as {@link AuditTrail.refused}. */
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

type Fetch = (request: Request, environment: CallEnvironment) => Response | Promise<Response>;

/** Makes the calls of the API's function from requests to answers. */
export async function callApi(
  fetch: Fetch,
  caller: Caller,
  { method, path, body, headers = {}, signal }: ApiCall,
): Promise<ApiResponse> {
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  const response = await fetch(request, { svcCaller: caller });
  const text = await response.text();
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? null : isJson ? JSON.parse(text) : text,
  };
}
