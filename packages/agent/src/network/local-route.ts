import { createSocket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { ResolvedAddress } from '../resolve/resolver.ts';

/** Discard (RFC 863). Nothing is sent to it. */
const ANY_PORT = 9;

/** Why this machine cannot reach a target, as the result reports it. */
export type NoRoute = { readonly reason: NotRunReason; readonly message: string };

/**
 * Why no address needs to be dialled: all are IPv6 addresses beyond the link, and this machine has no such
 * address itself. Null when dialling makes sense.
 *
 * A route may exist nevertheless, through a router that announces itself and no prefix. Packets would then
 * have a sender that nobody can answer, and the time-out would say nothing about the target.
 */
export function noIpv6For(addresses: readonly ResolvedAddress[]): NoRoute | null {
  const isNeeded = addresses.every(({ address, family }) => family === 6 && isBeyondLink(address));
  return isNeeded && ownIpv6Reach() === 'link' ? noIpv6(addresses) : null;
}

/**
 * Whether a connection failed because this machine has no route to any of the addresses. The errors of
 * connecting do not tell, because routers far away answer `network unreachable` too.
 *
 * @param addresses all addresses that were tried, not empty
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
    // No descriptor is left to ask the kernel with, so nothing is known about its addresses.
    return 'world';
  }
}

/**
 * How far the IPv6 addresses of a machine reach (RFC 4291, section 2.5). Unique local ones (RFC 4193) reach
 * within the site.
 */
export function ipv6Reach(interfaces: ReturnType<typeof networkInterfaces>): 'link' | 'site' | 'world' {
  const own = Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    // The flag `internal` is not used: machines that speak BGP have their address on the loopback interface.
    .filter(({ family, address }) => family === 'IPv6' && isBeyondLink(address));
  if (own.length === 0) return 'link';
  return own.every(({ address }) => UNIQUE_LOCAL.test(address)) ? 'site' : 'world';
}

const UNIQUE_LOCAL = /^f[cd]/i;
const LINK_LOCAL = /^fe[89ab]/i;

/** Whether an address reaches beyond the link. IPv4 addresses written as IPv6 need no IPv6. */
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

/**
 * Asks the kernel for a route: connecting a UDP socket looks the route up and sends nothing. Never rejects.
 */
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
