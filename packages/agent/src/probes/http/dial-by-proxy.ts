import type { Socket } from 'node:net';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import { type HttpProxy, openTunnel, type TunnelEnd } from '@svc/shared/proxy/proxy.ts';
import { onAbort } from '@svc/shared/waiting.ts';
import type { ResolvedAddress, Resolver } from '../../resolve/resolver.ts';
import { dial } from '../dial.ts';

/**
 * Maximum time for connecting to the proxy, ms. The proxy
 * is near, so a longer wait is not the target's fault.
 */
const REACH_PROXY_MS = 10_000;
/**
 * Maximum part of the attempt's remaining time for connecting to the proxy. Otherwise
 * the attempt could time out meanwhile, and the time-out would blame the target.
 */
const SHARE_OF_ATTEMPT = 0.9;

export type ProxyDialResult =
  | { kind: 'connected'; socket: Socket }
  /** The proxy reports that it cannot reach the target. */
  | { kind: 'failed'; message: string }
  /** The proxy refuses the target. */
  | { kind: 'denied'; message: string }
  /** The proxy cannot be reached, does not answer like a proxy, or refuses to serve the agent. */
  | { kind: 'no-proxy'; message: string }
  /** This machine could not connect to the proxy. This says nothing about the target. */
  | { kind: 'unable'; message: string; reason: NotRunReason }
  | { kind: 'aborted' };

type DialByParts = {
  /** Resolves the proxy's own name. */
  resolver: Resolver;
  /** Remaining time of the attempt, ms. */
  remainingMs: number;
  signal: AbortSignal;
  /** Holds the connection to the proxy, once there is one. */
  open: Map<Socket, ResolvedAddress>;
};

/** The operator chose the proxy, so its address is exempt from the rules for targets. */
const ANY_ADDRESS = { verdict: () => ({ allowed: true }) as const };

/**
 * Opens a connection to the target through a tunnel of the proxy. It never rejects.
 * The caller owns the socket of a `connected` result. The socket is paused.
 *
 * @param target host (a name, or an IP literal without brackets) and port
 */
export async function dialBy(
  proxy: HttpProxy,
  target: { host: string; port: number },
  { resolver, remainingMs, signal, open }: DialByParts,
): Promise<ProxyDialResult> {
  const timeoutMs = Math.max(1, Math.min(REACH_PROXY_MS, remainingMs * SHARE_OF_ATTEMPT));
  const reached = await dial(proxy.host, proxy.port, { resolver, egress: ANY_ADDRESS, timeoutMs, signal });
  switch (reached.kind) {
    case 'connected':
      open.set(reached.socket, reached.address);
      return await tunnelled(reached.socket, proxy, target, signal);
    case 'failed':
    case 'denied':
      return { kind: 'no-proxy', message: `the agent cannot reach the proxy: ${reached.message}` };
    case 'unable':
      return {
        kind: 'unable',
        message: `the agent cannot reach the proxy: ${reached.message}`,
        reason: ofOurs(reached.reason),
      };
    case 'aborted':
      return reached;
    default:
      return reached satisfies never;
  }
}

/**
 * Replaces the reason `no-ipv6`. Readers of a result take it to be about
 * the target's addresses, but here it is about the proxy's addresses.
 */
function ofOurs(reason: NotRunReason): NotRunReason {
  return reason === 'no-ipv6' ? 'network-down' : reason;
}

function tunnelled(
  socket: Socket,
  proxy: HttpProxy,
  target: { host: string; port: number },
  signal: AbortSignal,
): Promise<ProxyDialResult> {
  return new Promise((resolve) => {
    const unregister = onAbort(signal, () => {
      socket.destroy();
      resolve({ kind: 'aborted' });
    });
    openTunnel(socket, proxy, target, (end) => {
      unregister?.();
      resolve(end.kind === 'open' ? { kind: 'connected', socket } : judge(end, proxy));
    });
  });
}

/** The result when the proxy opened no tunnel, judged by its answer (RFC 9110, section 15.6). */
function judge(end: Exclude<TunnelEnd, { kind: 'open' }>, { authorization }: HttpProxy): ProxyDialResult {
  if (end.kind === 'broken')
    return { kind: 'no-proxy', message: `the proxy did not open a tunnel: ${end.message}` };
  const answer = `${end.statusCode}${end.reason === '' ? '' : ` ${end.reason}`}`;
  if (OF_CREDENTIALS.has(end.statusCode)) {
    const message =
      authorization === null
        ? `the proxy asks for credentials (${answer})`
        : `the proxy does not accept the configured credentials (${answer})`;
    return { kind: 'no-proxy', message };
  }
  if (end.statusCode >= 500)
    return { kind: 'failed', message: `the proxy cannot reach the target (${answer})` };
  return { kind: 'denied', message: `the proxy denies connections to the target (${answer})` };
}

/**
 * Statuses with which proxies ask for credentials. 401 is not meant for proxies
 * (RFC 9110, section 15.5.2), but tinyproxy sends it for a wrong password.
 */
const OF_CREDENTIALS: ReadonlySet<number> = new Set([401, 407]);
