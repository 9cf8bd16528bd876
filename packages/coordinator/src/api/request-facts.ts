import { randomUUID } from 'node:crypto';
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context } from 'hono';
import type { Visit } from '../web/site.ts';

/** Whether an address or name means only this machine, with or without brackets. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || isLoopbackIpv4(name);
}

function isLoopbackIpv4(name: string): boolean {
  return isIPv4(name) && name.startsWith('127.');
}

/**
 * Whether the `Host` of a request names this service. It is checked only where the request
 * came in over loopback. There, a page in a browser on this machine could name a host of
 * its own that resolves to 127.0.0.1 (DNS rebinding), and the request would look local.
 *
 * @param host the header; undefined: there is none (HTTP/1.0)
 */
export function isExpectedHost(host: string | undefined, publicUrl: string): boolean {
  if (host === undefined) return true;
  const hostname = hostOf(host);
  return isLoopbackHost(hostname) || hostname === new URL(publicUrl).hostname;
}

/**
 * Name of a `Host` header in lower case, without its port; '' without the header. A final
 * dot says that a name is complete (RFC 1034, section 3.1), and makes no other name of it.
 */
function hostOf(header: string | null): string {
  return header === null ? '' : (URL.parse(`http://${header}/`)?.hostname ?? '').replace(/\.$/, '');
}

type Circumstances = {
  readonly publicUrl: string;
  /** Whether this process speaks TLS itself. */
  readonly hasTls: boolean;
  readonly peer: string | null;
  readonly requestId: string;
};

/**
 * The visit of a request for a page.
 *
 * An address as host is this service's own: only names can be made to lead here
 * by others (DNS rebinding). Behind a proxy with TLS, which SVC_PUBLIC_URL then
 * says, visitors come with TLS under every name that is not this machine's.
 */
export function visitOf(request: Request, { publicUrl, hasTls, peer, requestId }: Circumstances): Visit {
  const url = new URL(request.url);
  const host = hostOf(request.headers.get('host'));
  return {
    request,
    url,
    method: request.method === 'HEAD' ? 'GET' : request.method,
    host,
    isOwnHost:
      host === new URL(publicUrl).hostname ||
      isLoopbackHost(host) ||
      isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0,
    isSecure: hasTls || (publicUrl.startsWith('https:') && !isLoopbackHost(host)),
    peer,
    requestId,
  };
}

/**
 * Makes the function that finds the address of a request's sender; null: the connection is gone.
 *
 * Without proxies that is the other end of the connection, as the socket reports it. Where that is a
 * trusted proxy, it is the last address of `X-Forwarded-For` that no trusted proxy has: each proxy appends
 * the address that it was called from, so the sender may have invented the addresses further left.
 *
 * @param trustedProxies CIDRs and addresses, as `parseCidrList` returns them
 */
export function createPeerOf(trustedProxies: readonly string[]): (context: Context) => string | null {
  const trusted = blockListOf(trustedProxies);
  return (context) => {
    const address = plainIpv4(getConnInfo(context).remote.address ?? '');
    if (address === '') return null;
    return forwardedBy(address, context.req.header('x-forwarded-for'), trusted);
  };
}

function forwardedBy(peer: string, header: string | undefined, trusted: BlockList): string {
  let sender = peer;
  for (const entry of (header ?? '').split(',').reverse()) {
    if (!isTrusted(sender, trusted)) break;
    const named = plainIpv4(entry.trim());
    // A text that is no address comes from the sender, or from a proxy that hides who it is.
    if (isIP(named) === 0) break;
    sender = named;
  }
  return sender;
}

function isTrusted(address: string, trusted: BlockList): boolean {
  return trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

function blockListOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', prefix] = cidr.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    list.addSubnet(address, Number(prefix ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  return list;
}

/** An IPv4 address that a socket for both families reports has a prefix. */
export function plainIpv4(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/** The id of a request: the client's own where it is a plain one. @param given the header `X-Request-Id` */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
}
