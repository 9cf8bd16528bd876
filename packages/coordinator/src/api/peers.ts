import { isIPv6 } from 'node:net';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context } from 'hono';

/**
 * Address at the other end of the connection, as the socket reports it: a proxy's, where there is one. Null:
 * the connection is gone.
 */
export function peerOf(context: Context): string | null {
  const { address } = getConnInfo(context).remote;
  return address?.replace(/^::ffff:(?=\d+\.)/i, '') ?? null;
}

/**
 * The key of a peer: an IPv4 address, or the /64 of an IPv6 address, because a single machine may use any
 * address in it.
 */
export function peerKey(address: string | null): string {
  if (address === null || !isIPv6(address)) return address ?? 'none';
  const [plain = ''] = address.split('%');
  const [head = '', tail] = plain.split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - front.length - back.length }, () => '0');
  return `${[...front, ...zeros, ...back].slice(0, 4).join(':')}::/64`;
}
