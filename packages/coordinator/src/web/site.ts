import { isIPv6 } from 'node:net';

/** A request for a page. None of its parts is verified yet. */
export type Visit = {
  readonly request: Request;
  readonly url: URL;
  /** The method; `GET` also for HEAD. The server removes the body from the answer to HEAD. */
  readonly method: string;
  /** Host name of the `Host` header in lower case, without port and final dot; '' without the header. */
  readonly host: string;
  /** Whether the host is the service's own: loopback, an IP address, or the host of SVC_PUBLIC_URL. */
  readonly isOwnHost: boolean;
  /** Whether the visitor's browser uses TLS, to this service or to the proxy in front of it. */
  readonly isSecure: boolean;
  /** IP address of the visitor; null: the connection is closed. */
  readonly peer: string | null;
  readonly requestId: string;
};

/** Pages that are served beside the API. */
export interface Site {
  /**
   * Answers a request; null: the request is for another site or the API. The function must not throw or
   * reject.
   */
  answer(visit: Visit): Promise<Response | null> | Response | null;
  /**
   * Ends endless answers, such as event streams, when the server stops. Without it, they would keep the
   * server open.
   */
  stop?(): void;
}

/**
 * The key of a peer for limits: the IPv4 address, or the /64 of the IPv6 address. One machine may use every
 * address of its /64.
 *
 * @param address IP address of the peer; null: unknown, and all unknown peers share one key
 */
export function peerKey(address: string | null): string {
  if (address === null || !isIPv6(address)) return address ?? 'none';
  const [plain = ''] = address.split('%');
  const [head = '', tail] = plain.split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - front.length - back.length }, () => '0');
  return `${[...front, ...zeros, ...back].slice(0, 4).join(':')}::/64`;
}
