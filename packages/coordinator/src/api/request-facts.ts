import { randomUUID } from 'node:crypto';
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context } from 'hono';
import type { Visit } from '../web/site.ts';

/** Whether an address or a name leads only to this machine. An IPv6 address may be in brackets. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || isLoopbackIpv4(name);
}

function isLoopbackIpv4(name: string): boolean {
  return isIPv4(name) && name.startsWith('127.');
}

/**
 * Whether the `Host` of a request names this service. The caller asks only about requests over
 * loopback. Without this check, a website that is open in a browser on this machine could let
 * its own host name resolve to 127.0.0.1 (DNS rebinding), and its requests would look local.
 *
 * @param host the `Host` header; undefined: the request has none (HTTP/1.0)
 */
export function isExpectedHost(host: string | undefined, publicUrl: string): boolean {
  if (host === undefined) return true;
  const hostname = hostOf(host);
  return isLoopbackHost(hostname) || hostname === new URL(publicUrl).hostname;
}

/**
 * Returns the host name in a `Host` header, in lower case and without the port; '' when the header is
 * missing. A final dot is removed, because it only marks the name as complete (RFC 1034, section 3.1).
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
 * Makes a {@link Visit} from a request for a page.
 *
 * A host that is an IP address always counts as this service's own, because DNS rebinding
 * needs a host name. If SVC_PUBLIC_URL is an https address, a proxy speaks TLS with
 * visitors. So a visit then counts as secure, unless its host is a loopback name or address.
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
 * The sender's address is the remote address of the socket. If that is a trusted proxy,
 * the sender's address is the last address in `X-Forwarded-For` that is no trusted
 * proxy, or the first address if all are trusted. Each proxy appends the address of its
 * caller, so the sender may have invented all earlier addresses in the header.
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
    // The sender, or a proxy that hides addresses, wrote a text that is no IP address.
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

/** Removes the prefix with which a socket for IPv4 and IPv6 reports an IPv4 address. */
export function plainIpv4(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/**
 * Returns the id of a request: the client's id if it has 1 to
 * 64 letters, digits, `_`, `.` or `-`, otherwise a new one.
 *
 * @param given the header `X-Request-Id`
 */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
}
