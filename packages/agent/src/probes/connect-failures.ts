/** What the system says of a connection that did not come about, by code, for people. */
export const CONNECT_FAILURES = {
  ECONNREFUSED: 'connection refused',
  ECONNABORTED: 'connection aborted',
  ETIMEDOUT: 'connection timed out',
  EHOSTUNREACH: 'no route to host',
  EHOSTDOWN: 'host is down',
  ENETUNREACH: 'network unreachable',
  ENETDOWN: 'network is down',
  EADDRNOTAVAIL: 'no local address',
} as const;
