import { Secret } from '../secret.ts';
import { basicAuthorization, credentialsIn } from '../user-info.ts';
import type { Bypass } from './no-proxy.ts';

/** An HTTP proxy that opens tunnels (CONNECT). */
export type HttpProxy = {
  /** Name or IP literal, without brackets. */
  readonly host: string;
  readonly port: number;
  /** Value of `Proxy-Authorization`; null when the header is not sent. */
  readonly authorization: Secret | null;
};

/** The proxy for a connection; undefined for a direct one. `host` is as for {@link Bypass}. */
export type ProxyFor = (host: string, port: number) => HttpProxy | undefined;

const DEFAULT_PORT = 80;

/**
 * Reads the URL of an HTTP proxy.
 *
 * @param text `http://[user:password@]host[:port]`
 * @throws TypeError that does not repeat the text
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
