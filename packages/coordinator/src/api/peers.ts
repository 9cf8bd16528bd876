import { BlockList, isIP, isIPv6 } from 'node:net';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context } from 'hono';

/**
 * Makes the function that finds the address of a request's sender; null: the connection is gone.
 *
 * Without proxies that is the other end of the connection, as the socket reports it. Where that is a trusted proxy, it
 * is the last address of `X-Forwarded-For` that no trusted proxy has: each proxy appends the address that it was
 * called from, so the sender may have invented the addresses further left.
 *
 * @param trustedProxies CIDRs and addresses, as `parseCidrList` returns them
 */
export function createPeerOf(trustedProxies: readonly string[]): (context: Context) => string | null {
  const trusted = blockListOf(trustedProxies);
  return (context) => {
    const address = plainIpv4(getConnInfo(context).remote.address ?? '');
    if (address === '') return null;
    return forwardedBy(address, context.req.header('x-forwarded-for'), trusted);
  };
}

function forwardedBy(peer: string, header: string | undefined, trusted: BlockList): string {
  let sender = peer;
  for (const entry of (header ?? '').split(',').reverse()) {
    if (!isTrusted(sender, trusted)) break;
    const named = plainIpv4(entry.trim());
    // A text that is no address comes from the sender, or from a proxy that hides who it is.
    if (isIP(named) === 0) break;
    sender = named;
  }
  return sender;
}

function isTrusted(address: string, trusted: BlockList): boolean {
  return trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

function blockListOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', prefix] = cidr.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    list.addSubnet(address, Number(prefix ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  return list;
}

/** An IPv4 address that a socket for both families reports has a prefix. */
export function plainIpv4(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}
