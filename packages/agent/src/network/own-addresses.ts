import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');
LOOPBACK.addAddress('0.0.0.0', 'ipv4');
LOOPBACK.addAddress('::', 'ipv6');

/**
 * Whether an IP address belongs to this machine. An answer
 * from such an address says nothing about the network.
 *
 * @param addressWithZone an address in the shortest spelling, with its zone
 *   if it has one (`fe80::1%eth0`); a name is never an own address
 */
export function isOwnAddress(addressWithZone: string): boolean {
  const [address = ''] = addressWithZone.split('%');
  const family = isIP(address);
  if (family === 0) return false;
  if (LOOPBACK.check(address, family === 4 ? 'ipv4' : 'ipv6')) return true;
  return Object.values(networkInterfaces()).some((all) => all?.some((each) => each.address === address));
}

/**
 * Whether a host is a loopback address, an unspecified address (`0.0.0.0`, `::`), `localhost` or a name
 * below it. The check is cheap enough for every failure. It does not recognise names that only the hosts
 * file maps to this machine.
 *
 * @param host name in lower case, or IP literal without brackets
 */
export function isLoopbackHost(host: string): boolean {
  const family = isIP(host);
  if (family !== 0) return LOOPBACK.check(host, family === 4 ? 'ipv4' : 'ipv6');
  return host === 'localhost' || host.endsWith('.localhost');
}
