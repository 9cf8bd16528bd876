import { isIP } from 'node:net';
import { createEgressGuard, type EgressGuard } from '@svc/shared/egress.ts';
import type { DeclaredUrl } from './channel.ts';

/** The operator's rules for the addresses of channels. */
export type UrlRules = {
  readonly guard: EgressGuard;
  /**
   * The hosts in `SVC_CHAT_HOSTS`, in lower case. Channels of kinds whose
   * vendor has fixed hosts may have these hosts too. `*` allows every host.
   */
  readonly chatHosts: readonly string[];
};

export type UrlRefusal = { readonly attribute: string; readonly message: string };

/**
 * Why svc may not post to the address in these settings; null: svc may, or the settings have no address.
 * The egress guard judges the host here only if the host is an IP address. The addresses of a host name are
 * judged when svc connects to them, unless a proxy resolves the name. The message does not repeat the declared
 * address, which is a secret.
 */
export function urlRefusal(
  declared: DeclaredUrl | null | undefined,
  settings: object,
  rules: UrlRules,
): UrlRefusal | null {
  if (declared === null || declared === undefined) return null;
  const { attribute, hosts } = declared;
  const address: unknown = Reflect.get(settings, attribute);
  if (typeof address !== 'string') return null;
  const url = URL.parse(address);
  const message =
    url === null ? 'is not a valid URL' : (hostRefusal(url, hosts, rules) ?? literalRefusal(url, rules));
  return message === null ? null : { attribute, message };
}

function hostRefusal(
  { protocol, hostname }: URL,
  hosts: DeclaredUrl['hosts'],
  { chatHosts }: UrlRules,
): string | null {
  if (hosts === 'any' || chatHosts.includes('*')) return null;
  const host = hostname.replace(/\.$/, '');
  if (chatHosts.includes(host)) return null;
  if (!hosts.includes(host)) {
    return `must be an address on ${hosts.slice(0, 2).join(' or ')}; SVC_CHAT_HOSTS allows further hosts`;
  }
  // Without TLS, an eavesdropper could read the address, and post to the room from then on.
  return protocol === 'https:' ? null : 'must begin with https://';
}

function literalRefusal({ hostname }: URL, { guard }: UrlRules): string | null {
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(literal) === 0) return null;
  const verdict = guard.verdict(literal);
  return verdict.allowed
    ? null
    : `is on an address that svc may not post to (${verdict.rule}); SVC_CHANNEL_EGRESS_ALLOW allows it`;
}

/** Makes the rules from the operator's settings. */
export function urlRules(config: {
  readonly channelEgressAllow: readonly string[];
  readonly chatHosts: readonly string[];
}): UrlRules {
  const guard = createEgressGuard({ base: 'channel', deny: [], allow: config.channelEgressAllow });
  return { guard, chatHosts: config.chatHosts };
}
