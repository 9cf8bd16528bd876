/** Texts for people about connections that failed, by the code of the system. */
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
