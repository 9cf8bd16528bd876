/** A request for a page, before anything of it was believed. */
export type Visit = {
  readonly request: Request;
  readonly url: URL;
  /** `GET` for HEAD too: whoever answers, the body of a HEAD is left out. */
  readonly method: string;
  /** Name of the `Host` header in lower case, without its port and a final dot; '' without the header. */
  readonly host: string;
  /** Whether the host is this service's own: loopback, an IP address, or the host of SVC_PUBLIC_URL. */
  readonly isOwnHost: boolean;
  /** Whether the visitor's browser speaks TLS, to this service or to the proxy in front of it. */
  readonly isSecure: boolean;
  /** Address of the visitor; null: the connection is gone. */
  readonly peer: string | null;
  readonly requestId: string;
};

/** A GET as it came over a socket, for what is ready to be sent. */
export type ReadyRequest = {
  /** Path, and the query where there is one, as they came. */
  readonly target: string;
  /** Whether the `Host` names this service: see {@link Visit}. */
  readonly isOwnHost: boolean;
  /** Headers by their names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
};

/** @property body null: the status has none */
export type ReadyAnswer = {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | null;
};

/** Pages that are served beside the API. */
export interface Site {
  /**
   * The same answer as that of {@link answer}, where it is ready in memory; null: it is not. Thousands of visitors ask
   * for one page at the moment at which something is down: this way costs a third. It must not block.
   */
  ready?(request: ReadyRequest): ReadyAnswer | null;
  /** The answer; null: the request is for somebody else. It must not throw. */
  answer(visit: Visit): Promise<Response | null> | Response | null;
  /** Ends answers that have no end of their own. No request comes after it. */
  stop?(): void;
}
