import type { Socket } from 'node:net';
import type { NotRunReason } from '@svc/shared/messages/check-result.ts';
import { onAbort } from '@svc/shared/on-abort.ts';
import type { HttpProxy } from '@svc/shared/proxy/proxy.ts';
import { openTunnel, type TunnelEnd } from '@svc/shared/proxy/tunnel.ts';
import type { Resolver } from '../../resolve/resolver.ts';
import { dial } from '../dial.ts';

/** The proxy is near; what it takes longer to be reached is not the target's. ms */
const REACH_PROXY_MS = 10_000;
/** Of what is left of the attempt: its own time-out would blame the target. */
const SHARE_OF_ATTEMPT = 0.9;

export type ProxyDialResult =
  | { kind: 'connected'; socket: Socket }
  /** The proxy says that it cannot reach the target. */
  | { kind: 'failed'; message: string }
  /** The proxy's rules deny the target. */
  | { kind: 'denied'; message: string }
  | { kind: 'no-proxy'; message: string }
  /** This machine could not ask; says nothing about the target. */
  | { kind: 'unable'; message: string; reason: NotRunReason }
  | { kind: 'aborted' };

type DialByOptions = {
  /** For the proxy's own name. */
  resolver: Resolver;
  /** What is left of the attempt, ms. */
  remainingMs: number;
  signal: AbortSignal;
};

/** The operator has set the proxy: its address is exempt from the rules for targets. */
const ANY_ADDRESS = { verdict: () => ({ allowed: true }) as const };

/**
 * Opens a connection to the target through a tunnel of the proxy. Never rejects; the caller owns the socket of
 * a `connected` result, which is paused.
 *
 * @param target its host is a name or an IP literal without brackets
 */
export async function dialBy(
  proxy: HttpProxy,
  target: { host: string; port: number },
  { resolver, remainingMs, signal }: DialByOptions,
): Promise<ProxyDialResult> {
  const timeoutMs = Math.max(1, Math.min(REACH_PROXY_MS, remainingMs * SHARE_OF_ATTEMPT));
  const reached = await dial(proxy.host, proxy.port, { resolver, egress: ANY_ADDRESS, timeoutMs, signal });
  switch (reached.kind) {
    case 'connected':
      return await tunnelled(reached.socket, proxy, target, signal);
    case 'failed':
    case 'denied':
      return { kind: 'no-proxy', message: `the proxy cannot be reached: ${reached.message}` };
    case 'unable':
      return {
        kind: 'unable',
        message: `the proxy cannot be reached: ${reached.message}`,
        reason: ofOurs(reached.reason),
      };
    case 'aborted':
      return reached;
    default:
      return reached satisfies never;
  }
}

/** `no-ipv6` speaks of the target's addresses; here they are the proxy's. */
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

/** What the proxy's answer says of the target, if anything (RFC 9110, section 15.6). */
function judge(end: Exclude<TunnelEnd, { kind: 'open' }>, { authorization }: HttpProxy): ProxyDialResult {
  if (end.kind === 'broken')
    return { kind: 'no-proxy', message: `the proxy opens no tunnel: ${end.message}` };
  const answer = `${end.statusCode}${end.reason === '' ? '' : ` ${end.reason}`}`;
  if (OF_CREDENTIALS.has(end.statusCode)) {
    const message =
      authorization === null
        ? `the proxy asks for credentials (${answer})`
        : `the proxy does not accept our credentials (${answer})`;
    return { kind: 'no-proxy', message };
  }
  if (end.statusCode >= 500)
    return { kind: 'failed', message: `the proxy cannot reach the target (${answer})` };
  return { kind: 'denied', message: `the proxy denies connections to the target (${answer})` };
}

/** 401 is no proxy's status (RFC 9110, section 15.5.2), but tinyproxy gives it for a wrong password. */
const OF_CREDENTIALS: ReadonlySet<number> = new Set([401, 407]);
