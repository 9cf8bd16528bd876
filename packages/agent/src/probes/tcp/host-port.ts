export type HostPort = { host: string; port: number };

/**
 * Reads `host:port`, with IPv6 literals in brackets (`[::1]:22`). The returned host has no brackets.
 *
 * @returns null when the text has another form, or the port is not 1 to 65535
 */
export function parseHostPort(text: string): HostPort | null {
  const colon = text.lastIndexOf(':');
  const digits = text.slice(colon + 1);
  if (colon < 1 || !/^\d{1,5}$/.test(digits)) return null;
  const port = Number(digits);
  if (port < 1 || port > 65_535) return null;
  const isBracketed = text.startsWith('[') && text[colon - 1] === ']';
  const host = isBracketed ? text.slice(1, colon - 1) : text.slice(0, colon);
  // A second colon without brackets means an IPv6 literal. Where its port begins could only be guessed.
  if (host === '' || isBracketed !== host.includes(':') || /[\s[\]/]/.test(host)) return null;
  return { host, port };
}
