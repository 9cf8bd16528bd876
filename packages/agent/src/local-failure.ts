/**
 * What an error from opening or connecting a socket says about this machine:
 *
 * - `used-up`: no descriptors, ports or memory are left. The error says nothing about the peer.
 * - `no-route`: this machine may have no route, or may have a rule that forbids the connection,
 *   or a distant router may have reported the failure (`network/local-route.ts` finds out which).
 *
 * Null: the error says nothing about this machine.
 */
export type LocalFailure = 'used-up' | 'no-route';

/**
 * Returns what an error says about this machine.
 *
 * @param code the system's error code, such as `EMFILE`
 * @param family address family of the peer
 */
export function localFailureOf(code: string, family: 4 | 6): LocalFailure | null {
  switch (code) {
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOBUFS':
    case 'ENOMEM':
    case 'EBUSY':
      return 'used-up';
    case 'EADDRNOTAVAIL':
      // IPv4: no local port is left. IPv6: the machine may also have no IPv6.
      return family === 4 ? 'used-up' : 'no-route';
    case 'ENETUNREACH':
    case 'ENETDOWN':
    case 'EHOSTUNREACH':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
    case 'EACCES':
    case 'EPERM':
      return 'no-route';
    default:
      return null;
  }
}
