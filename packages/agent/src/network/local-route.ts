import { createSocket } from 'node:dgram';
import { existsSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { canonicalAddress } from '@svc/shared/address.ts';
import { codeOf } from '@svc/shared/errors.ts';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import type { ResolvedAddress } from '../resolve/resolver.ts';
import { isOwnAddress } from './own-addresses.ts';

/** The discard port (RFC 863). Nothing is sent to it. */
const ANY_PORT = 9;

/** Why this machine cannot reach a target, as the result reports it. */
export type NoRoute = { readonly reason: NotRunReason; readonly message: string };

/**
 * Says why dialling is pointless: all addresses are IPv6 addresses that reach beyond
 * the link, and no IPv6 address of this machine does. Null when dialling makes sense.
 *
 * The machine may have a route nevertheless, through a router that announces
 * itself but no prefix. The machine's packets would then have a sender address
 * that no answer can reach, and the time-out would say nothing about the target.
 */
export function noIpv6For(addresses: readonly ResolvedAddress[]): NoRoute | null {
  const isNeeded = addresses.every(({ address, family }) => family === 6 && isBeyondLink(address));
  return isNeeded && ownIpv6Reach() === 'link' ? noIpv6(addresses) : null;
}

/** An address that was dialled. `from` is this machine's own address on the connection, where it is known. */
export type DialledAddress = ResolvedAddress & { readonly from?: string | undefined };

/** An address, and the code of the error with which connecting to it failed. */
export type FailedAddress = { readonly address: DialledAddress; readonly code: string };

/**
 * Finds out whether a connection failed because this machine cannot send to any of the addresses: it
 * has no route to the address, or a rule forbids it. The error codes alone do not show this, because
 * distant routers cause most of these codes too: `network unreachable`, and over IPv6 `EACCES`.
 *
 * @param failures the failures of all addresses that were tried, not empty
 * @returns null when this machine can send to at least one of the addresses; the failure is then the target's
 */
export async function noLocalRoute(failures: readonly FailedAddress[]): Promise<NoRoute | null> {
  const codes = new Set<string>();
  for (const { address, code } of failures) {
    const local = code in ALWAYS_LOCAL ? code : await localErrorOf(address);
    if (local === null) return null;
    codes.add(local);
  }
  const addresses = failures.map(({ address }) => address);
  const rules = [...codes].map((code) => RULES[code]);
  if (!rules.includes(undefined)) {
    const message = `the agent's machine refuses to send to ${hostsOf(addresses)} (${rules.join('; ')})`;
    return { reason: 'network-down', message };
  }
  if (addresses.every(({ family }) => family === 6)) {
    const reach = ownIpv6Reach();
    const isOfSite = addresses.some(({ address }) => UNIQUE_LOCAL.test(address));
    if (reach === 'link' || (reach === 'site' && !isOfSite)) return noIpv6(addresses);
  }
  return { reason: 'network-down', message: `the agent's machine has no route to ${hostsOf(addresses)}` };
}

/** Codes of connection errors that no answer from the network causes (`icmp_err_convert` of Linux). */
const ALWAYS_LOCAL: Readonly<Record<string, true>> = { __proto__: null as never, EINVAL: true, EPERM: true };

/** Why this machine refuses a connection, by the code of the error. */
const RULES: Readonly<Record<string, string>> = {
  __proto__: null as never,
  EINVAL: 'EINVAL: a blackhole route, or a link-local address without a zone',
  EACCES: 'EACCES: a prohibit route, or a broadcast address',
  EPERM: 'EPERM: its own firewall or sandbox',
};

function ownIpv6Reach(): ReturnType<typeof ipv6Reach> {
  try {
    return ipv6Reach(usableIpv6());
  } catch {
    // The kernel cannot be asked for the machine's addresses, for example because no
    // descriptor is left. `world` is the reach that blames nothing on this machine.
    return 'world';
  }
}

/**
 * The IPv6 addresses that connections can have as their sender. A new address is tentative for some
 * seconds, for example after boot, while the kernel asks whether another machine uses it. Packets then have
 * the sender `::1`, and no answer comes. `networkInterfaces` lists tentative addresses too, so on Linux the
 * kernel's own list is read, which has flags (`if_addr.h`).
 */
function usableIpv6(): string[] {
  if (process.platform !== 'linux') {
    const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
    return all.filter(({ family }) => family === 'IPv6').map(({ address }) => address);
  }
  return usableAddresses(existsSync(ADDRESSES) ? readFileSync(ADDRESSES, 'latin1') : '');
}

/** The kernel's list of IPv6 addresses (proc(5)). The file is missing when the kernel has no IPv6. */
const ADDRESSES = '/proc/net/if_inet6';
const TENTATIVE = 0x40;
/** A tentative address with this flag may be used already. */
const OPTIMISTIC = 0x04;

/**
 * Returns the addresses in the kernel's list that connections can have as their sender.
 *
 * @param table lines of `address index prefix scope flags interface`, with numbers in hexadecimal
 */
export function usableAddresses(table: string): string[] {
  return table.split('\n').flatMap((line) => {
    const [digits = '', , , , flags = ''] = line.split(/ +/);
    const isWaiting = (Number.parseInt(flags, 16) & (TENTATIVE | OPTIMISTIC)) === TENTATIVE;
    const address = canonicalAddress(digits.replace(/.{4}(?=.)/g, '$&:'));
    return address === null || isWaiting ? [] : [address];
  });
}

/**
 * How far the IPv6 addresses of a machine reach (RFC 4291, section 2.5). Unique local
 * addresses (RFC 4193) reach within the site. The loopback interface's addresses other
 * than `::1` count too, because machines that speak BGP have their address there.
 */
export function ipv6Reach(addresses: readonly string[]): 'link' | 'site' | 'world' {
  const own = addresses.filter(isBeyondLink);
  if (own.length === 0) return 'link';
  return own.every((address) => UNIQUE_LOCAL.test(address)) ? 'site' : 'world';
}

const UNIQUE_LOCAL = /^f[cd]/i;
const LINK_LOCAL = /^fe[89ab]/i;

/**
 * Whether an IPv6 address reaches beyond the link. An IPv4-mapped address (`::ffff:`) does not: it is IPv4.
 */
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

/** Whether this machine seems to have lost this address of its own. */
function seemsLost(address: string): boolean {
  try {
    return !isOwnAddress(address);
  } catch {
    // The kernel cannot be asked for the machine's addresses, for example because no descriptor is left.
    return false;
  }
}

/**
 * Asks the kernel for a route. Connecting a UDP socket looks the route up and sends nothing. Never rejects.
 *
 * @returns the code of the error; null when there is a route, and this machine still has the address `from`
 */
function localErrorOf({ address, family, from }: DialledAddress): Promise<string | null> {
  return new Promise((settle) => {
    const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
    const end = (code: string | null): void => {
      socket.close();
      settle(code);
    };
    socket.once('error', (error) => end(codeOf(error)));
    socket.once('connect', () => {
      // No answer from beyond the link comes back to such a sender address (`noIpv6For`).
      const isInVain = isBeyondLink(address) && !isBeyondLink(socket.address().address);
      end(isInVain ? 'EADDRNOTAVAIL' : null);
    });
    const ask = () => socket.connect(ANY_PORT, address);
    // The kernel knows more addresses of its own than it lists, for example those of `local` routes.
    if (from !== undefined && seemsLost(from)) socket.bind({ address: from, exclusive: true }, ask);
    else ask();
  });
}
