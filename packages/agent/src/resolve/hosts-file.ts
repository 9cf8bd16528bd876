import { isIP } from 'node:net';
import type { ResolvedAddress } from './resolver.ts';

/** Addresses by name in lower case, in the file's order. */
export type HostsFile = ReadonlyMap<string, readonly ResolvedAddress[]>;

/** Reads hosts(5). Lines whose first word is not an address are ignored. */
export function parseHostsFile(text: string): HostsFile {
  const hosts = new Map<string, ResolvedAddress[]>();
  for (const line of text.split('\n')) {
    const [written = ''] = line.split('#', 1);
    const [address = '', ...names] = written.trim().split(/\s+/);
    const family = isIP(address);
    if (family !== 4 && family !== 6) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      const known = hosts.get(key) ?? [];
      if (!known.some((other) => other.address === address)) known.push({ address, family });
      hosts.set(key, known);
    }
  }
  return hosts;
}
