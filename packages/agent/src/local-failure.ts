/**
 * What an error of opening or connecting a socket says about this machine:
 *
 * - `used-up`: no descriptors, ports or memory are left. It says nothing about the other side.
 * - `no-route`: there may be no route from here; or a router far away has said so (`network/local-route.ts`).
 *
 * Null: nothing, the other side failed.
 */
export type LocalFailure = 'used-up' | 'no-route';

export function localFailureOf(code: string, family: 4 | 6): LocalFailure | null {
  switch (code) {
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOBUFS':
    case 'ENOMEM':
    case 'EBUSY':
      return 'used-up';
    case 'EADDRNOTAVAIL':
      // IPv4: no local port is left. IPv6: also what a machine without IPv6 says.
      return family === 4 ? 'used-up' : 'no-route';
    case 'ENETUNREACH':
    case 'ENETDOWN':
    case 'EHOSTUNREACH':
    case 'EAFNOSUPPORT':
      return 'no-route';
    default:
      return null;
  }
}
