import { createSocket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { ResolvedAddress } from '../resolve/resolver.ts';

/** Discard (RFC 863); nothing is sent to it. */
const ANY_PORT = 9;

/** Why this machine cannot reach a target, as a result says it. */
export type NoRoute = { readonly reason: NotRunReason; readonly message: string };

/**
 * Why none of the addresses needs to be dialled: all of them are IPv6 ones beyond the link, and this machine has no
 * such address itself. With a route all the same (a router that announces itself and no prefix) what is sent would
 * have a sender that nobody can answer: a time-out that says nothing about the target.
 */
export function noIpv6For(addresses: readonly ResolvedAddress[]): NoRoute | null {
  const isNeeded = addresses.every(({ address, family }) => family === 6 && isBeyondLink(address));
  return isNeeded && ownIpv6Reach() === 'link' ? noIpv6(addresses) : null;
}

/**
 * Whether what failed to connect failed because this machine has no route to any of the addresses: the
 * errors of connecting do not tell, since routers far away answer `network unreachable` as well.
 *
 * @param addresses all that were tried, not empty
 * @returns null when there is a route to one of them, so that the failure is the target's
 */
export async function noLocalRoute(addresses: readonly ResolvedAddress[]): Promise<NoRoute | null> {
  for (const each of addresses) if (await hasLocalRoute(each)) return null;
  if (addresses.every(({ family }) => family === 6)) {
    const reach = ownIpv6Reach();
    const isOfSite = addresses.some(({ address }) => UNIQUE_LOCAL.test(address));
    if (reach === 'link' || (reach === 'site' && !isOfSite)) return noIpv6(addresses);
  }
  return { reason: 'network-down', message: `the agent's machine has no route to ${hostsOf(addresses)}` };
}

function ownIpv6Reach(): ReturnType<typeof ipv6Reach> {
  try {
    return ipv6Reach(networkInterfaces());
  } catch {
    // No descriptor is left to ask the kernel with: nothing is known of its addresses.
    return 'world';
  }
}

/** How far the IPv6 addresses of a machine reach: RFC 4291 section 2.5, unique local ones (RFC 4193) within the site. */
export function ipv6Reach(interfaces: ReturnType<typeof networkInterfaces>): 'link' | 'site' | 'world' {
  const own = Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    // Not `internal`: machines that speak BGP have their address on the loopback interface.
    .filter(({ family, address }) => family === 'IPv6' && isBeyondLink(address));
  if (own.length === 0) return 'link';
  return own.every(({ address }) => UNIQUE_LOCAL.test(address)) ? 'site' : 'world';
}

const UNIQUE_LOCAL = /^f[cd]/i;
const LINK_LOCAL = /^fe[89ab]/i;

/** IPv4 addresses that are written as IPv6 ones need no IPv6. */
function isBeyondLink(address: string): boolean {
  return address !== '::1' && !LINK_LOCAL.test(address) && !/^::ffff:/i.test(address);
}

function noIpv6(addresses: readonly ResolvedAddress[]): NoRoute {
  return {
    reason: 'no-ipv6',
    message: `the target has IPv6 addresses only (${hostsOf(addresses)}), and the agent's machine has no IPv6`,
  };
}

const hostsOf = (addresses: readonly ResolvedAddress[]): string =>
  addresses.map(({ address }) => address).join(', ');

/** Asks the kernel: connecting a UDP socket looks the route up and sends nothing. Never rejects. */
function hasLocalRoute({ address, family }: ResolvedAddress): Promise<boolean> {
  return new Promise((settle) => {
    const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
    const end = (has: boolean): void => {
      socket.close();
      settle(has);
    };
    socket.once('error', () => end(false));
    socket.once('connect', () => end(true));
    socket.connect(ANY_PORT, address);
  });
}
