import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * The one way in which an address is written everywhere: IPv4 dotted, IPv6 as RFC 5952 says (lower case,
 * longest run of zeros shortened, no leading zeros). A zone (`%eth0`) is dropped.
 *
 * @returns null when `text` is no IP literal
 */
export function canonicalAddress(text: string): string | null {
  if (isIPv4(text)) return text;
  return isIP(text) === 0 ? null : addressFromBytes(ipaddr.parse(text).toByteArray());
}

/**
 * @param bytes 4 or 16 bytes in network order
 * @throws RangeError for any other length
 */
export function addressFromBytes(bytes: ArrayLike<number>): string {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  if (bytes.length !== 16) throw new RangeError(`an address has 4 or 16 bytes, not ${bytes.length}`);
  return new ipaddr.IPv6(Array.from(bytes)).toRFC5952String();
}
