import { connect, type Socket } from 'node:net';
import { SvcError } from '@svc/shared/errors.ts';
import { type HttpProxy, openTunnel, type TunnelEnd } from '@svc/shared/proxy/proxy.ts';

/** The proxy cannot be reached or did not open a tunnel. The message may be stored in the ledger. */
export class ProxyError extends SvcError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('proxy-failed', message, options);
  }
}

/**
 * Opens a connection to the target through a tunnel of the proxy. The proxy's own address is exempt from the
 * guard, because the operator has set it.
 *
 * @param target its host is a name, which the proxy resolves, or an IP literal without brackets. The signal ends a
 *   dial whose caller no longer waits. The caller keeps the time-out.
 */
export function connectBy(
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
    // From here on the user of the socket learns of its end from the socket itself.
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
