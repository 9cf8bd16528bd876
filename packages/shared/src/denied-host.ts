import { isIP } from 'node:net';
import type { EgressGuard } from './egress.ts';

/**
 * Why the guard would refuse every connection to the URL, as far as its text tells: the host is an address, or a name that
 * is this machine's everywhere (RFC 6761, section 6.3). Null: it does not tell. Other names are judged at the dial only, by
 * the addresses that they have then.
 *
 * @param url an http or https URL
 */
export function deniedHost(guard: EgressGuard, url: string): string | null {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  const address = /(?:^|\.)localhost$/.test(host) ? '127.0.0.1' : host;
  if (isIP(address) === 0) return null;
  const verdict = guard.verdict(address);
  if (verdict.allowed) return null;
  return `is at ${host}, which svc does not connect to (${verdict.rule}): the operator may allow it by SVC_CHANNEL_EGRESS_ALLOW`;
}
