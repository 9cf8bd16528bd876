import type { Resolver } from '@svc/agent/resolve/resolver.ts';
import { createSystemResolver } from '@svc/agent/resolve/system-resolver.ts';

/** The system's names, and before them those that only this region knows. */
export function regionalResolver(names: Readonly<Record<string, readonly string[]>>): Resolver {
  const system = createSystemResolver();
  return {
    resolve(host, ...rest) {
      const addresses = names[host];
      if (addresses === undefined) return system.resolve(host, ...rest);
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
    isSilentSince: (since) => system.isSilentSince(since),
    close: () => system.close(),
  };
}
