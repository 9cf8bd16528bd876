import { isIP, type LookupFunction } from 'node:net';
import type { SecureContext } from 'node:tls';
import { EgressDeniedError, type EgressGuard } from '@svc/shared/egress.ts';
import { buildConnector } from 'undici';
import { fairly, type Resolve } from './names.ts';

/** ms */
const ABANDONED_AFTER_MS = 10_000;

/**
 * Connector for undici that asks the guard about the address that is dialled. A `lookup` alone is not
 * enough: sockets never call it for IP literals. TLS is verified, HTTP/1.1 only, no proxy. Whoever dials
 * has the time-out; the one here only ends sockets that nobody waits for any more.
 *
 * @param secureContext asked for once, at the first connection
 */
export function guardedConnector(
  guard: EgressGuard,
  resolve: Resolve,
  secureContext: () => SecureContext,
): buildConnector.connector {
  let connect: buildConnector.connector | undefined;
  const connector = () => {
    connect ??= buildConnector({
      secureContext: secureContext(),
      allowH2: false,
      timeout: ABANDONED_AFTER_MS,
      lookup: guardedLookup(guard, resolve),
    });
    return connect;
  };
  return (options, callback) => {
    if (isIP(options.hostname) !== 0) {
      const verdict = guard.verdict(options.hostname);
      if (!verdict.allowed) {
        const denied = new EgressDeniedError(options.hostname, verdict.rule);
        queueMicrotask(() => callback(denied, null));
        return;
      }
    }
    connector()(options, callback);
  };
}

/** Offers only the allowed addresses of a name to the socket; none left is {@link EgressDeniedError}. */
function guardedLookup(guard: EgressGuard, resolve: Resolve): LookupFunction {
  const lookup = fairly(resolve);
  return (hostname, options, callback) => {
    lookup(hostname).then(
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
  return Object.assign(new Error(`no address for ${hostname}`), { code: 'ENOTFOUND' });
}
