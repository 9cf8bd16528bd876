/**
 * True for errors of opening or connecting a socket that are this machine's own (no descriptors, ports or memory
 * left) and say nothing about the other side: such a check is `not_run`, not `failed`.
 */
export function isLocalFailure(code: string, family: 4 | 6): boolean {
  switch (code) {
    case 'EMFILE':
    case 'ENFILE':
    case 'ENOBUFS':
    case 'ENOMEM':
    case 'EBUSY':
      return true;
    case 'EADDRNOTAVAIL':
      // IPv4: no local port is left. IPv6: also what a machine without IPv6 says.
      return family === 4;
    default:
      return false;
  }
}
