import type { Resolver } from '@svc/agent/resolve/resolver.ts';
import { ResolveError } from '@svc/agent/resolve/resolver.ts';
import type { HttpCheck } from '@svc/shared/messages/check.ts';

/** A check with the given attributes and the defaults of all others. */
export function httpCheck(given: Partial<HttpCheck> & { url: string }): HttpCheck {
  return {
    type: 'http',
    method: 'GET',
    headers: [],
    body: '',
    follow_redirects: true,
    status_code_assertions: [],
    body_assertions: [],
    header_assertions: [],
    timeout: 45_000,
    retry: 0,
    degraded_at: 0,
    ...given,
  };
}

/** A resolver that knows only the given names. It answers asynchronously, as a server does. */
export function fixedResolver(names: Readonly<Record<string, readonly string[]>> = {}): Resolver {
  return {
    async resolve(host) {
      const addresses = names[host];
      if (addresses === undefined) throw new ResolveError('ENOTFOUND', host, 'no such name');
      return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    },
    isSilentSince: () => false,
    async close() {},
  };
}
