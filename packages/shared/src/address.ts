import { isIPv4, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';

/**
 * Writes an IP address in svc's canonical form. IPv4 is dotted. IPv6 follows RFC 5952: lower case, no leading
 * zeros, the longest run of zeros shortened. A zone (`%eth0`) is dropped.
 *
 * @returns null when `text` is not an IP literal
 */
export function canonicalAddress(text: string): string | null {
  const bytes = addressBytes(text);
  return bytes === null ? null : addressFromBytes(bytes);
}

/**
 * Writes an address from its bytes.
 *
 * @param bytes 4 or 16 bytes in network order
 * @throws RangeError for any other length
 */
export function addressFromBytes(bytes: ArrayLike<number>): string {
  if (bytes.length === 4) return `${bytes[0]}.${bytes[1]}.${bytes[2]}.${bytes[3]}`;
  if (bytes.length !== 16) throw new RangeError(`an address has 4 or 16 bytes, not ${bytes.length}`);
  return new ipaddr.IPv6(Array.from(bytes)).toRFC5952String();
}

/**
 * The 4 or 16 bytes of an IP literal in network order, or null when `text` is not a literal. Node decides
 * what a literal is, because ipaddr.js also takes `10` and `127.1` and reads `::10.0.0.1` as the IPv4-mapped
 * address.
 */
export function addressBytes(text: string): number[] | null {
  if (isIPv4(text)) return text.split('.').map(Number);
  if (!isIPv6(text)) return null;
  const [address = ''] = text.split('%');
  const [head = '', tail] = address.split('::');
  const first = groupBytes(head);
  if (tail === undefined) return first;
  const last = groupBytes(tail);
  return [...first, ...new Array<number>(16 - first.length - last.length).fill(0), ...last];
}

/** Bytes of the groups between colons. The last group may be a dotted IPv4 address. */
function groupBytes(groups: string): number[] {
  if (groups === '') return [];
  return groups.split(':').flatMap((group) => {
    if (group.includes('.')) return group.split('.').map(Number);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

/**
 * Writes a name as DNS carries it: IDNA names in their ASCII form (`xn--…`). ASCII names stay as they are,
 * because IDNA would refuse some names that DNS allows.
 *
 * @returns null when the name has no ASCII form
 */
export function asciiDomainName(name: string): string | null {
  if (/^[\x00-\x7f]*$/.test(name)) return name;
  const ascii = domainToASCII(name);
  return ascii === '' ? null : ascii;
}
