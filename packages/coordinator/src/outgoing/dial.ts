import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import type { SecureContext } from 'node:tls';
import { EgressDeniedError, type EgressGuard } from '@svc/shared/egress.ts';
import { SvcError } from '@svc/shared/errors.ts';
import { type HttpProxy, openTunnel, type ProxyFor, type TunnelEnd } from '@svc/shared/proxy/proxy.ts';
import { checkAlternativeNames } from '@svc/shared/server-trust.ts';
import { buildConnector } from 'undici';
import type { Resolve } from './names.ts';

/** A connector like undici's, with a signal. The caller aborts the signal to end the dial. */
export type GuardedConnector = (
  options: buildConnector.Options,
  signal: AbortSignal,
  callback: buildConnector.Callback,
) => void;

export type GuardedDial = {
  readonly guard: EgressGuard;
  /** Resolves names and limits how many of the process's lookup threads it uses: see `fairly`. */
  readonly resolve: Resolve;
  /** Makes the TLS context. It is called once, at the first connection over TLS. */
  readonly secureContext: () => SecureContext;
  /** Chooses the proxy; undefined: every connection is direct. */
  readonly proxyFor: ProxyFor | undefined;
};

/**
 * A connector for undici that checks each dialled address with the guard. A guarded
 * `lookup` alone is not enough, because sockets do not call it for IP literals.
 *
 * If a proxy is set for the host, the proxy resolves names and decides which names are allowed, and the guard
 * checks only IP literals (decision 0262). The server's certificate is verified. Only HTTP/1.1 is offered.
 * The caller must bound the time with `signal`: an undici client that is destroyed does not end its dial.
 */
export function guardedConnector(dial: GuardedDial): GuardedConnector {
  const { guard, resolve, secureContext, proxyFor } = dial;
  const lookup = guardedLookup(guard, resolve);
  let secure: buildConnector.connector | undefined;
  const overTls: buildConnector.connector = (options, callback) => {
    secure ??= buildConnector({
      secureContext: secureContext(),
      allowH2: false,
      timeout: 0,
      checkServerIdentity: checkAlternativeNames,
    });
    secure(options, callback);
  };
  return (options, signal, callback) => {
    const target = targetOf(options);
    const verdict = isIP(target.host) === 0 ? null : guard.verdict(target.host);
    if (verdict?.allowed === false) {
      const denied = new EgressDeniedError(target.host, verdict.rule);
      queueMicrotask(() => callback(denied, null));
      return;
    }
    const connected = (error: Error | null, socket: Socket | null) => {
      if (socket === null) callback(error ?? new TypeError('no socket and no error'), null);
      else if (options.protocol === 'https:') overTls({ ...options, httpSocket: socket }, callback);
      else callback(null, socket);
    };
    const proxy = proxyFor?.(target.host, target.port);
    if (proxy === undefined) connectTo({ ...target, lookup: releasedBy(signal, lookup), signal }, connected);
    else connectBy(proxy, { ...target, signal }, connected);
  };
}

type Dialled = { host: string; port: number; lookup: LookupFunction; signal: AbortSignal };

function connectTo(dialled: Dialled, done: (error: Error | null, socket: Socket | null) => void): void {
  const socket = connect(dialled);
  const failed = (error: Error) => done(error, null);
  socket.once('error', failed);
  socket.once('connect', () => {
    // From here on, the user of the socket listens for its errors. The empty listener prevents a crash if an
    // error comes before that.
    socket.off('error', failed).on('error', () => {});
    done(null, socket);
  });
}

/**
 * Releases the callback of a lookup when the dial is aborted. A lookup cannot be cancelled, and may wait an
 * hour for its turn. Until the lookup ended, its callback would keep the socket, the client and the body in
 * memory.
 */
function releasedBy(signal: AbortSignal, lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    let waiting: typeof callback | null = callback;
    const release = () => {
      waiting = null;
    };
    signal.addEventListener('abort', release, { once: true });
    lookup(hostname, options, (...answer) => waiting?.(...answer));
  };
}

function targetOf({ hostname, port, protocol }: buildConnector.Options): { host: string; port: number } {
  const defaultPort = protocol === 'https:' ? 443 : 80;
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? defaultPort : Number(port) };
}

/**
 * Gives the socket only the allowed addresses of a name. If no address is allowed, the error is an
 * {@link EgressDeniedError}.
 */
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

/**
 * The proxy cannot be reached or did not open a tunnel. svc puts no secret into the message, so the ledger
 * may store it.
 */
export class ProxyError extends SvcError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('proxy-failed', message, options);
  }
}

/**
 * Opens a connection to the target through a tunnel of the proxy. The proxy's own address is exempt from the
 * guard, because the operator has set it.
 *
 * @param target `host` is a name, which the proxy resolves, or an IP literal without brackets. `signal` ends
 *   the dial, which has no other time-out.
 */
function connectBy(
  proxy: HttpProxy,
  target: { host: string; port: number; signal: AbortSignal },
  done: (error: ProxyError | null, socket: Socket | null) => void,
): void {
  const socket = connect({ host: proxy.host, port: proxy.port, signal: target.signal });
  const unreachable = (cause: NodeJS.ErrnoException) => {
    const message = `svc cannot reach the proxy (${cause.code ?? 'unknown error'})`;
    done(new ProxyError(message, { cause }), null);
  };
  socket.once('error', unreachable);
  socket.once('connect', () => {
    // From here on, the user of the socket listens for its errors. The empty listener prevents a crash if an
    // error comes before that.
    socket.off('error', unreachable).on('error', () => {});
    openTunnel(socket, proxy, target, (end) => {
      if (end.kind === 'open') done(null, socket);
      else done(new ProxyError(said(end)), null);
    });
  });
}

function said(end: Exclude<TunnelEnd, { kind: 'open' }>): string {
  if (end.kind === 'broken') return `the proxy did not open a tunnel: ${end.message}`;
  const answer = `${end.statusCode}${end.reason === '' ? '' : ` ${end.reason}`}`;
  return `the proxy did not open a tunnel to the receiver (${answer})`;
}
