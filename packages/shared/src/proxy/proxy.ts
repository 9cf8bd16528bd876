import type { Socket } from 'node:net';
import { z } from 'zod';
import { Secret } from '../secret.ts';
import type { SettingsTable } from '../settings/environment.ts';
import { orProblem } from '../settings/setting-schemas.ts';
import { basicAuthorization, credentialsIn } from '../url-secrets.ts';
import { type Bypass, parseNoProxy } from './no-proxy.ts';

/** An HTTP proxy that opens tunnels (CONNECT). */
export type HttpProxy = {
  /** Name or IP literal, without brackets. */
  readonly host: string;
  readonly port: number;
  /** Value of `Proxy-Authorization`; null when the header is not sent. */
  readonly authorization: Secret | null;
};

/**
 * Returns the proxy for a connection; undefined: the connection is direct. `host` is a name, or an IP literal
 * without brackets.
 */
export type ProxyFor = (host: string, port: number) => HttpProxy | undefined;

const DEFAULT_PORT = 80;

/**
 * Reads the URL of an HTTP proxy.
 *
 * @param text `http://[user:password@]host[:port]`
 * @throws TypeError whose message does not repeat the text
 */
export function parseProxy(text: string): HttpProxy {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'http:' || !/^http:\/\//i.test(text)) {
    throw new TypeError('must be the URL of an HTTP proxy: http://[user:password@]host:port');
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '') {
    throw new TypeError('must end after the port, without a path or query');
  }
  const credentials = credentialsIn(url);
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
    authorization: credentials === null ? null : new Secret(basicAuthorization(credentials)),
  };
}

/** Combines a proxy and its exceptions; undefined when all connections are direct. */
export function proxyFor(proxy: HttpProxy | undefined, bypass: Bypass): ProxyFor | undefined {
  return proxy === undefined ? undefined : (host, port) => (bypass(host, port) ? undefined : proxy);
}

const MAX_HEAD_BYTES = 64 * 1_024;
const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})(?: ([^\r\n]*))?\r?\n/;

export type TunnelEnd =
  /**
   * The socket now leads to the target. It is paused, and bytes that have
   * already arrived can be read from it.
   */
  | { kind: 'open' }
  /** The proxy answered with a status that opens no tunnel. The socket is destroyed. */
  | { kind: 'refused'; statusCode: number; reason: string }
  /** The connection failed, or the answer is not that of a proxy. The socket is destroyed. */
  | { kind: 'broken'; message: string };

/**
 * Asks a proxy once for a tunnel over a connected socket (RFC 9110, section 9.3.6). There is no time-out: a
 * caller that gives up destroys the socket.
 *
 * @param host name or IP literal without brackets; the proxy resolves a name
 */
export function openTunnel(
  socket: Socket,
  { authorization }: Pick<HttpProxy, 'authorization'>,
  target: { host: string; port: number },
  done: (end: TunnelEnd) => void,
): void {
  const host = target.host.includes(':') ? `[${target.host}]` : target.host;
  const authority = `${host}:${target.port}`;
  let head = Buffer.alloc(0);
  const finish = (end: TunnelEnd) => {
    socket.off('data', read).off('error', failed).off('close', closed);
    socket.pause();
    if (end.kind !== 'open') socket.on('error', () => {}).destroy();
    done(end);
  };
  const read = (bytes: Buffer) => {
    head = Buffer.concat([head, bytes]);
    const headEnd = head.indexOf('\r\n\r\n');
    if (headEnd === -1) {
      if (head.length > MAX_HEAD_BYTES) finish({ kind: 'broken', message: 'its answer has no end' });
      return;
    }
    const end = judge(head.subarray(0, headEnd + 4).toString('latin1'));
    const rest = head.subarray(headEnd + 4);
    if (end.kind === 'open' && rest.length > 0) {
      socket.pause();
      socket.off('data', read);
      socket.unshift(rest);
    }
    finish(end);
  };
  const failed = (error: Error) => finish({ kind: 'broken', message: error.message });
  const closed = () => finish({ kind: 'broken', message: 'it closed the connection without an answer' });
  socket.on('data', read).on('error', failed).on('close', closed);
  const credentials = authorization === null ? '' : `Proxy-Authorization: ${authorization.reveal()}\r\n`;
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credentials}\r\n`);
}

function judge(head: string): TunnelEnd {
  const [, status, reason = ''] = STATUS_LINE.exec(head) ?? [];
  if (status === undefined) return { kind: 'broken', message: 'its answer is not HTTP' };
  const statusCode = Number(status);
  if (statusCode >= 200 && statusCode <= 299) return { kind: 'open' };
  return { kind: 'refused', statusCode, reason: printable(reason) };
}

function printable(text: string): string {
  return text.replace(/[^\u0020-\u007e]/g, '·').slice(0, 60);
}

/** Schema of a setting that names a proxy. */
export const proxyUrl = z
  .string()
  .transform((text, context) => orProblem(context, () => parseProxy(text)))
  .optional();

export const NO_PROXY_SETTINGS = {
  noProxy: {
    name: 'NO_PROXY',
    otherName: 'no_proxy',
    description:
      'hosts that are reached without the proxy: names with their subdomains, addresses, CIDRs, or * for all; also as no_proxy',
    default: '',
    schema: z.string().transform(parseNoProxy),
  },
} as const satisfies SettingsTable;
