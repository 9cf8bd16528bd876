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

/** Pages that are served beside the API. */
export interface Site {
  /** The answer; null: the request is for somebody else. It must not throw. */
  answer(visit: Visit): Promise<Response | null> | Response | null;
  /** Ends answers that have no end of their own. No request comes after it. */
  stop?(): void;
}
