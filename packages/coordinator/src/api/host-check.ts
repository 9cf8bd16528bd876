import { isIPv4 } from 'node:net';

/** Whether an address or name means only this machine, with or without brackets. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || isLoopbackIpv4(name);
}

function isLoopbackIpv4(name: string): boolean {
  return isIPv4(name) && name.startsWith('127.');
}

/**
 * Whether the `Host` of a request names this service. It is checked only where the request came in over loopback.
 * There, a page in a browser on this machine could name a host of its own that resolves to 127.0.0.1 (DNS
 * rebinding), and the request would look local.
 *
 * @param host the header; undefined: there is none (HTTP/1.0)
 */
export function isExpectedHost(host: string | undefined, publicUrl: string): boolean {
  if (host === undefined) return true;
  const hostname = hostOf(host);
  return isLoopbackHost(hostname) || hostname === new URL(publicUrl).hostname;
}

/**
 * Name of a `Host` header in lower case, without its port; '' without the header. A final dot says that a name is
 * complete (RFC 1034, section 3.1), and makes no other name of it.
 */
export function hostOf(header: string | null): string {
  return header === null ? '' : (URL.parse(`http://${header}/`)?.hostname ?? '').replace(/\.$/, '');
}
