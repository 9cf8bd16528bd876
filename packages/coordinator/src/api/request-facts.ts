import { randomUUID } from 'node:crypto';
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context } from 'hono';
import type { Visit } from '../web/site.ts';

/** Whether an address or a name, with or without brackets, leads only to this machine. */
export function isLoopbackHost(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || isLoopbackIpv4(name);
}

function isLoopbackIpv4(name: string): boolean {
  return isIPv4(name) && name.startsWith('127.');
}

/**
 * Whether the `Host` of a request names this service. Only requests over loopback are
 * checked. Otherwise a website that is open in a browser on this machine could let its
 * own host name resolve to 127.0.0.1 (DNS rebinding), and its requests would look local.
 *
 * @param host the `Host` header; undefined: the request has none (HTTP/1.0)
 */
export function isExpectedHost(host: string | undefined, publicUrl: string): boolean {
  if (host === undefined) return true;
  const hostname = hostOf(host);
  return isLoopbackHost(hostname) || hostname === new URL(publicUrl).hostname;
}

/**
 * Host name in a `Host` header, in lower case and without the port; '' when the header is missing.
 * A final dot is removed, because it only marks the name as complete (RFC 1034, section 3.1).
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
 * A host that is an IP address always counts as this service, because DNS rebinding
 * needs a host name. If SVC_PUBLIC_URL is an https address, a proxy speaks TLS with
 * visitors, so a visit counts as secure unless its host is a loopback name or address.
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
 * The sender's address is the remote address of the socket. If the remote address is a trusted proxy,
 * the sender's address is the last one in `X-Forwarded-For` that is no trusted proxy. Each proxy appends
 * the address of its caller, so the sender may have invented all earlier addresses in the header.
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
    // A text that is no IP address was written by the sender, or by a proxy that hides addresses.
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

/** Removes the prefix with which a socket for both families reports an IPv4 address. */
export function plainIpv4(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/**
 * The id of a request: the client's id, if it has 1 to 64
 * letters, digits, `_`, `.` or `-`; otherwise a new one.
 *
 * @param given the header `X-Request-Id`
 */
export function requestIdOf(given: string | undefined): string {
  return given !== undefined && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID();
}
