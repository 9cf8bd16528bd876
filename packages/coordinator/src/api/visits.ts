import { isIP } from 'node:net';
import type { Visit } from '../web/site.ts';
import { hostOf, isLoopbackHost } from './host-check.ts';

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
 * An address as host is this service's own: only names can be made to lead here by others (DNS rebinding). Behind a
 * proxy with TLS, which SVC_PUBLIC_URL then says, visitors come with TLS under every name that is not this machine's.
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
