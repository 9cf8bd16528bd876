/** What became of a connection, for people. */
export function describeSocketError(error: NodeJS.ErrnoException, host: string): string {
  const code = error.code ?? '';
  const known = PLAIN[code];
  if (known !== undefined)
    return `${known} (${code} ${error.syscall ?? ''} ${host.slice(0, 100)})`.replace(/ {2,}/g, ' ');
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO') {
    return `the TLS handshake with ${host.slice(0, 100)} failed: ${reasonOf(error)}`;
  }
  return `the connection to ${host.slice(0, 100)} failed: ${error.message.slice(0, 200)}`;
}

/** Failures of this machine, which say nothing about the target. */
export function isOurFailure(error: NodeJS.ErrnoException): boolean {
  switch (error.code) {
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOBUFS':
    case 'ENOMEM':
      return true;
    case 'EADDRNOTAVAIL':
      // IPv4: no local port is left. IPv6: also what a machine without IPv6 says.
      return !String((error as { address?: unknown }).address).includes(':');
    default:
      return false;
  }
}

const PLAIN: Readonly<Record<string, string>> = {
  __proto__: null as never,
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the target reset the connection',
  ECONNABORTED: 'connection aborted',
  EPIPE: 'the target closed the connection before it had the whole request',
  ETIMEDOUT: 'connection timed out',
  EHOSTUNREACH: 'no route to host',
  EHOSTDOWN: 'host is down',
  ENETUNREACH: 'network unreachable',
  ENETDOWN: 'network is down',
  EADDRNOTAVAIL: 'no local address for it',
  EACCES: 'connecting is not permitted',
  EPERM: 'connecting is not permitted',
};

/** OpenSSL's own words, e.g. `wrong version number`, without its source positions. */
function reasonOf(error: NodeJS.ErrnoException): string {
  const { reason } = error as { reason?: unknown };
  if (typeof reason !== 'string') return error.message.slice(0, 200);
  return reason === 'wrong version number' || reason === 'packet length too long'
    ? `${reason} (the port does not seem to speak TLS)`
    : reason;
}
