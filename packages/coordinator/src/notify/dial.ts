import { type LookupAddress, lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { EgressDeniedError, type EgressGuard } from '@svc/shared/egress.ts';
import { buildConnector } from 'undici';

/** Resolves a name to all its addresses. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** As the system does: hosts file, search list, system servers. */
export const resolveAsSystem: Resolve = (hostname) =>
  new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true }, (error, addresses) => {
      if (error) reject(error);
      else resolve(addresses);
    });
  });

/** ms */
const ABANDONED_AFTER_MS = 10_000;

/**
 * Connector for undici that asks the guard about the address that is dialled. A `lookup` alone is not
 * enough: sockets never call it for IP literals. TLS is verified, HTTP/1.1 only, no proxy. Whoever dials
 * has the time-out; the one here only ends sockets that nobody waits for any more.
 */
export function guardedConnector(guard: EgressGuard, resolve: Resolve): buildConnector.connector {
  const connect = buildConnector({
    allowH2: false,
    timeout: ABANDONED_AFTER_MS,
    lookup: guardedLookup(guard, resolve),
  });
  return (options, callback) => {
    if (isIP(options.hostname) !== 0) {
      const verdict = guard.verdict(options.hostname);
      if (!verdict.allowed) {
        const denied = new EgressDeniedError(options.hostname, verdict.rule);
        queueMicrotask(() => callback(denied, null));
        return;
      }
    }
    connect(options, callback);
  };
}

/** Offers only the allowed addresses of a name to the socket; none left is {@link EgressDeniedError}. */
function guardedLookup(guard: EgressGuard, resolve: Resolve): LookupFunction {
  const shared = shareConcurrent(resolve);
  return (hostname, options, callback) => {
    shared(hostname).then(
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

/**
 * One query per name at a time. The system's resolver has four threads for the whole process: without
 * this one channel whose zone is dead would take all of them.
 */
function shareConcurrent(resolve: Resolve): Resolve {
  const running = new Map<string, Promise<LookupAddress[]>>();
  return (hostname) => {
    const known = running.get(hostname);
    if (known) return known;
    const query = resolve(hostname).finally(() => running.delete(hostname));
    running.set(hostname, query);
    return query;
  };
}

function notFound(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`no address for ${hostname}`), { code: 'ENOTFOUND' });
}
