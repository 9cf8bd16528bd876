import { isIPv6 } from 'node:net';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context } from 'hono';

/** Address of the other end of the connection, as the socket tells it: a proxy's where there is one. Null: it is gone. */
export function peerOf(context: Context): string | null {
  const { address } = getConnInfo(context).remote;
  return address?.replace(/^::ffff:(?=\d+\.)/i, '') ?? null;
}

/**
 * What counts as one peer: an IPv4 address, or the /64 that an IPv6 address is in, of which a single machine
 * may use any.
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
