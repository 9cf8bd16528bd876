import { createSocket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { ResolvedAddress } from '../resolve/resolver.ts';

/** Discard (RFC 863); nothing is sent to it. */
const ANY_PORT = 9;

/** Why this machine cannot reach a target, as a result says it. */
export type NoRoute = { readonly reason: NotRunReason; readonly message: string };

/**
 * Whether what failed to connect failed because this machine has no route to any of the addresses: the
 * errors of connecting do not tell, since routers far away answer `network unreachable` as well.
 *
 * @param addresses all that were tried, not empty
 * @returns null when there is a route to one of them, so that the failure is the target's
 */
export async function noLocalRoute(addresses: readonly ResolvedAddress[]): Promise<NoRoute | null> {
  for (const each of addresses) if (await hasLocalRoute(each)) return null;
  const hosts = addresses.map(({ address }) => address).join(', ');
  if (addresses.every(({ family }) => family === 6) && !hasIpv6()) {
    return {
      reason: 'no-ipv6',
      message: `the target has IPv6 addresses only (${hosts}), and the agent's machine has no IPv6`,
    };
  }
  return { reason: 'network-down', message: `the agent's machine has no route to ${hosts}` };
}

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

/** Some interface has an IPv6 address that reaches beyond its link. */
function hasIpv6(): boolean {
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(
      ({ family, internal, address }) => family === 'IPv6' && !internal && !/^fe[89ab]/i.test(address),
    ),
  );
}
