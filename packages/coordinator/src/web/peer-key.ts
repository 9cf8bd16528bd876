import { isIPv6 } from 'node:net';

/**
 * The key of a peer: an IPv4 address, or the /64 of an IPv6 address, because a single machine may use any
 * address in it.
 *
 * @param address null: it is not known
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
