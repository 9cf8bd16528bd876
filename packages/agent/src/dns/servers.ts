import { isIP } from 'node:net';

/** A DNS server; `host` is an IP literal without brackets. */
export type ServerAddress = { host: string; port: number };

const DNS_PORT = 53;

/**
 * Reads one server: `10.0.0.53`, `10.0.0.53:5353`, `fd00::53`, `[fd00::53]:5353`.
 *
 * @throws TypeError when it is none of these
 */
export function parseServer(text: string): ServerAddress {
  if (isIP(text) !== 0) return { host: text, port: DNS_PORT };
  const [, v6, v4, digits] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = v6 ?? v4 ?? '';
  const port = Number(digits ?? DNS_PORT);
  const isAddress = isIP(host) === (v6 === undefined ? 4 : 6);
  if (!isAddress || port < 1 || port > 65_535) {
    throw new TypeError(`"${text}" is not a DNS server: write 10.0.0.53, 10.0.0.53:5353 or [fd00::53]:53`);
  }
  return { host, port };
}

/** The text for a server in messages, which also serves as its key: `10.0.0.53:53`, `[fd00::53]:53`. */
export function serverName({ host, port }: ServerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
