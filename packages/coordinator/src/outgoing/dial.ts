import { isIP, type LookupFunction } from 'node:net';
import type { SecureContext } from 'node:tls';
import { EgressDeniedError, type EgressGuard } from '@svc/shared/egress.ts';
import { SvcError } from '@svc/shared/errors.ts';
import type { ProxyFor } from '@svc/shared/proxy/proxy.ts';
import { checkAlternativeNames } from '@svc/shared/server-identity.ts';
import { buildConnector } from 'undici';
import type { Resolve } from './names.ts';
import { connectBy } from './tunnel.ts';

/** ms */
const ABANDONED_AFTER_MS = 10_000;

export type GuardedDial = {
  readonly guard: EgressGuard;
  /** Keeps itself from taking all threads that the process has for names: see `fairly`. */
  readonly resolve: Resolve;
  /** Asked for once, at the first connection. */
  readonly secureContext: () => SecureContext;
  /** Undefined: everything goes directly. */
  readonly proxyFor: ProxyFor | undefined;
};

/**
 * Connector for undici that asks the guard about the address that is dialled. A `lookup` alone is not
 * enough: sockets never call it for IP literals. Where a proxy is set for the host, names are the proxy's to
 * resolve and to allow, and the guard judges literals only (decision 0175). TLS is verified, HTTP/1.1 only.
 * Whoever dials has the time-out; the one here only ends sockets that nobody waits for any more.
 */
export function guardedConnector(dial: GuardedDial): buildConnector.connector {
  const { guard, resolve, secureContext, proxyFor } = dial;
  let connect: buildConnector.connector | undefined;
  const connector = () => {
    connect ??= buildConnector({
      secureContext: secureContext(),
      allowH2: false,
      timeout: ABANDONED_AFTER_MS,
      lookup: guardedLookup(guard, resolve),
      checkServerIdentity: checkAlternativeNames,
    });
    return connect;
  };
  return (options, callback) => {
    const target = targetOf(options);
    const verdict = isIP(target.host) === 0 ? null : guard.verdict(target.host);
    if (verdict?.allowed === false) {
      const denied = new EgressDeniedError(target.host, verdict.rule);
      queueMicrotask(() => callback(denied, null));
      return;
    }
    const proxy = proxyFor?.(target.host, target.port);
    if (proxy === undefined) {
      connector()(options, callback);
      return;
    }
    connectBy(proxy, target, (error, socket) => {
      if (socket === null) callback(error ?? new TypeError('no socket and no error'), null);
      else if (options.protocol === 'https:') connector()({ ...options, httpSocket: socket }, callback);
      else callback(null, socket);
    });
  };
}

function targetOf({ hostname, port, protocol }: buildConnector.Options): { host: string; port: number } {
  const defaultPort = protocol === 'https:' ? 443 : 80;
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? defaultPort : Number(port) };
}

/** Offers only the allowed addresses of a name to the socket; none left is {@link EgressDeniedError}. */
function guardedLookup(guard: EgressGuard, resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        let denied: EgressDeniedError | undefined;
        const allowed = addresses.filter(({ address }) => {
          const verdict = guard.verdict(address);
          if (!verdict.allowed) denied = new EgressDeniedError(address, verdict.rule);
          return verdict.allowed;
        });
        const first = allowed[0];
        if (first === undefined) callback(denied ?? notFound(hostname), '');
        else if (options.all) callback(null, allowed);
        else callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, ''),
    );
  };
}

function notFound(hostname: string): NodeJS.ErrnoException {
  return new SvcError('ENOTFOUND', `no address for ${hostname}`);
}
