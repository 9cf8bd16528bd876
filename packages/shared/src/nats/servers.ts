import { BlockList, isIP } from 'node:net';
import { unescapePercent } from '../url-secrets.ts';

/** The servers that `SVC_NATS_URL` names. */
export type NatsServers = {
  /** `host:port`, without scheme and credentials. */
  readonly addresses: readonly string[];
  /** Host name or IP address of each server. IPv6 addresses have no brackets. */
  readonly hosts: readonly string[];
  /** Whether the servers were written with `tls://`. */
  readonly requiresTls: boolean;
  /** Whether all servers are `localhost` or loopback addresses. */
  readonly areLoopback: boolean;
  /**
   * Credentials of the first address that has any: `user:password@` or `token@`. A `%` that begins no escape
   * is kept.
   */
  readonly credentials:
    | { readonly user: string; readonly password: string }
    | { readonly token: string }
    | null;
};

type Server = {
  readonly isTls: boolean;
  readonly url: URL;
};

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

/**
 * Reads a list of NATS servers, separated by commas: `tls://host:port`, `nats://host:port` or `host:port`.
 *
 * @throws TypeError that says what is wrong. The message does not repeat the text,
 *   which may contain a password
 */
export function parseNatsServers(text: string): NatsServers {
  const servers = text.split(',').map((server) => parseServer(server.trim()));
  const requiresTls = servers.some(({ isTls }) => isTls);
  if (requiresTls && !servers.every(({ isTls }) => isTls)) {
    throw new TypeError(
      'names servers with and without tls://: use tls:// for all of them, because one plain connection exposes the keys',
    );
  }
  const hosts = servers.map(({ url }) => url.hostname.replace(/^\[|\]$/g, ''));
  const withCredentials = servers.find(({ url }) => url.username !== '');
  return {
    addresses: servers.map(({ url }) => url.host),
    hosts,
    requiresTls,
    areLoopback: hosts.every(isLoopback),
    credentials: withCredentials === undefined ? null : credentialsIn(withCredentials.url),
  };
}

/** The servers as people may see them: with their scheme, without credentials. */
export function shownServers({
  addresses,
  requiresTls,
}: Pick<NatsServers, 'addresses' | 'requiresTls'>): string {
  return addresses.map((address) => `${requiresTls ? 'tls' : 'nats'}://${address}`).join();
}

function parseServer(text: string): Server {
  const [, scheme = 'nats', rest = ''] = /^(?:([a-z]+):\/\/)?(?!.*:\/\/)(.+)$/i.exec(text) ?? [];
  const isTls = /^tls$/i.test(scheme);
  if (rest === '' || !(isTls || /^nats$/i.test(scheme)) || !URL.canParse(`nats://${rest}`)) {
    throw new TypeError(
      'must be host:port, nats://host:port or tls://host:port; separate several servers by commas',
    );
  }
  return { isTls, url: new URL(`nats://${rest}`) };
}

function credentialsIn({ username, password }: URL): NatsServers['credentials'] {
  const user = unescapePercent(username);
  return password === '' ? { token: user } : { user, password: unescapePercent(password) };
}

function isLoopback(host: string): boolean {
  const family = isIP(host);
  if (family === 0) return host.toLowerCase() === 'localhost';
  return loopback.check(host, family === 4 ? 'ipv4' : 'ipv6');
}
