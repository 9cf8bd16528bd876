import { isIPv4 } from 'node:net';

/** Whether an address or name means this machine alone, with or without brackets. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || isLoopbackIpv4(name);
}

function isLoopbackIpv4(name: string): boolean {
  return isIPv4(name) && name.startsWith('127.');
}

/**
 * Whether a request was meant for this service, by its `Host`. Only asked where the API listens on loopback: there
 * a page in a browser on this machine can name a host of its own that resolves to 127.0.0.1 (DNS rebinding), and
 * would be let in as a neighbour.
 *
 * @param host the header; undefined: there is none (HTTP/1.0)
 */
export function isExpectedHost(host: string | undefined, publicUrl: string): boolean {
  if (host === undefined) return true;
  const { hostname } = URL.parse(`http://${host}/`) ?? { hostname: '' };
  return isLoopbackHost(hostname) || hostname === new URL(publicUrl).hostname;
}
