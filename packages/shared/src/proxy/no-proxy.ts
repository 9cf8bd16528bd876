import { BlockList, isIP } from 'node:net';

/** Whether a connection to `host` (a name, or an IP literal without brackets) bypasses the proxy. */
export type Bypass = (host: string, port: number) => boolean;

type Entry = { readonly port: number | null; matches(host: string): boolean };

/**
 * Reads `NO_PROXY`, in the forms that curl and Go read. Entries are separated by commas: names with all their
 * subdomains, and addresses, each with an optional port, and CIDRs. `*` matches everything.
 *
 * Unreadable entries are ignored, because the variable is set for all programs of a machine. Connections to
 * loopback never use a proxy, because the proxy would reach its own loopback.
 */
export function parseNoProxy(text: string): Bypass {
  const entries = text.split(',').flatMap((entry) => entryOf(entry.trim().toLowerCase()) ?? []);
  return (host, port) => {
    const name = host.toLowerCase().replace(/\.$/, '');
    if (isLoopback(name)) return true;
    return entries.some((entry) => (entry.port === null || entry.port === port) && entry.matches(name));
  };
}

/**
 * Matches a name or an address with an optional port: `example.com`, `.example.com:8080`,
 * `[2001:db8::1]:443`.
 */
const WITH_PORT = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/;

function entryOf(text: string): Entry | null {
  if (text === '*') return { port: null, matches: () => true };
  if (isIP(text) !== 0) return addressEntry(text, null);
  const range = rangeEntry(text);
  if (range !== null) return range;
  const [, bracketed, plain, digits] = WITH_PORT.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined) return null;
  const port = digits === undefined ? null : Number(digits);
  if (isIP(host) !== 0) return addressEntry(host, port);
  const name = host.replace(/^\*?\./, '').replace(/\.$/, '');
  if (name === '') return null;
  return { port, matches: (asked) => asked === name || asked.endsWith(`.${name}`) };
}

function addressEntry(address: string, port: number | null): Entry {
  const list = new BlockList();
  list.addAddress(address, familyOf(address));
  return { port, matches: (host) => isIn(list, host) };
}

function rangeEntry(text: string): Entry | null {
  const [, address = '', digits] = /^([0-9a-f.:]+)\/(\d{1,3})$/.exec(text) ?? [];
  const prefix = Number(digits);
  const family = isIP(address);
  if (family === 0 || prefix > (family === 4 ? 32 : 128)) return null;
  const list = new BlockList();
  list.addSubnet(address, prefix, familyOf(address));
  return { port: null, matches: (host) => isIn(list, host) };
}

function isIn(list: BlockList, host: string): boolean {
  return isIP(host) !== 0 && list.check(host, familyOf(host));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');
// When a program dials these addresses, the system connects to itself.
LOOPBACK.addAddress('0.0.0.0', 'ipv4');
LOOPBACK.addAddress('::', 'ipv6');

function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || isIn(LOOPBACK, host);
}
