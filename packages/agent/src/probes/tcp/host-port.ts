export type HostPort = { host: string; port: number };

/**
 * Reads `host:port`, with IPv6 literals in brackets (`[::1]:22`). The host is returned without them.
 *
 * @returns null when the text is none, or the port is not 1 to 65535
 */
export function parseHostPort(text: string): HostPort | null {
  const colon = text.lastIndexOf(':');
  const digits = text.slice(colon + 1);
  if (colon < 1 || !/^\d{1,5}$/.test(digits)) return null;
  const port = Number(digits);
  if (port < 1 || port > 65_535) return null;
  const isBracketed = text.startsWith('[') && text[colon - 1] === ']';
  const host = isBracketed ? text.slice(1, colon - 1) : text.slice(0, colon);
  // A second colon outside brackets is an IPv6 literal that lacks them: which part is the port is a guess.
  if (host === '' || isBracketed !== host.includes(':') || /[\s[\]/]/.test(host)) return null;
  return { host, port };
}
