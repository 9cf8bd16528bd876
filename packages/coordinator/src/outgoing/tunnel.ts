import { connect, type Socket } from 'node:net';
import { SvcError } from '@svc/shared/errors.ts';
import type { HttpProxy } from '@svc/shared/proxy/proxy.ts';
import { openTunnel, type TunnelEnd } from '@svc/shared/proxy/tunnel.ts';

/** The proxy cannot be reached or did not open a tunnel. The message may be stored in the ledger. */
export class ProxyError extends SvcError {
  constructor(message: string, options?: { cause?: unknown }) {
    super('proxy-failed', message, options);
  }
}

/** Age at which a socket that nobody waits for ends, ms. The caller keeps the time-out. */
const ABANDONED_AFTER_MS = 10_000;

/**
 * Opens a connection to the target through a tunnel of the proxy. The proxy's own address is exempt from the
 * guard, because the operator has set it.
 *
 * @param target its host is a name, which the proxy resolves, or an IP literal without brackets
 */
export function connectBy(
  proxy: HttpProxy,
  target: { host: string; port: number },
  done: (error: ProxyError | null, socket: Socket | null) => void,
): void {
  const socket = connect({ host: proxy.host, port: proxy.port, timeout: ABANDONED_AFTER_MS });
  socket.on('timeout', () => socket.destroy(new ProxyError('svc cannot reach the proxy (ETIMEDOUT)')));
  const unreachable = (cause: NodeJS.ErrnoException) => {
    const message = `svc cannot reach the proxy (${cause.code ?? 'unknown error'})`;
    done(cause instanceof ProxyError ? cause : new ProxyError(message, { cause }), null);
  };
  socket.once('error', unreachable);
  socket.once('connect', () => {
    socket.off('error', unreachable);
    openTunnel(socket, proxy, target, (end) => {
      socket.setTimeout(0);
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
