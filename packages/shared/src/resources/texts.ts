import { isIP, isIPv4, isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { isId } from '../ids.ts';
import { userInfo } from '../url-secrets.ts';

/**
 * Checks a text. It returns the fault of the text and what to do, or null when the text has no fault. The
 * result never repeats any part of the text, which may be a secret. No check trims a text or changes its
 * case: texts are kept as they were written.
 */
export type TextCheck = (text: string) => string | null;

export const oneLine: TextCheck = (text) => {
  if (/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/.test(text))
    return 'must be one line without control characters';
  return directed(text);
};

/** Accepts a text of several lines, with tabs. */
export const lines: TextCheck = (text) =>
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/.test(text)
    ? 'must be lines without control characters'
    : directed(text);

const directed: TextCheck = (text) =>
  BIDIRECTIONAL.test(text) ? 'must not contain characters that change the direction of the text' : null;

/**
 * Marks, embeddings, overrides and isolates (UAX #9), which can make a name look like another name.
 * Letters of any script are allowed.
 */
const BIDIRECTIONAL = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

/** Accepts every text that can be encoded as UTF-8. */
export const wellFormed: TextCheck = (text) =>
  text.isWellFormed() ? null : 'contains half of a surrogate pair, which is not a character';

function url(text: string, schemes: readonly string[]): string | null {
  const names = schemes.map((scheme) => (scheme === 'mailto:' ? scheme : `${scheme}//`)).join(' or ');
  // The URL parser drops tabs and line breaks silently and trims spaces, but svc must probe exactly the URL
  // that was written.
  if (/[\u0000-\u0020\u007f]/.test(text)) {
    return 'must not contain spaces or control characters: write a space as %20';
  }
  const parsed = URL.parse(text);
  if (parsed === null) {
    return schemes.some((scheme) => text.toLowerCase().startsWith(scheme))
      ? 'is not a valid URL'
      : `must be a URL that starts with ${names}`;
  }
  if (!schemes.includes(parsed.protocol)) return `must be a URL that starts with ${names}`;
  if (parsed.protocol === 'mailto:') return email(parsed.pathname);
  if (!/^https?:\/\//i.test(text)) return `must be a URL that starts with ${names}`;
  if (parsed.port === '0') return 'must not name port 0';
  return null;
}

/**
 * Accepts a URL without user information. User information is refused, because it would be
 * stored and shown in clear text.
 */
function urlWithoutUserInfo(text: string, schemes: readonly string[]): string | null {
  const wrong = url(text, schemes);
  if (wrong !== null) return wrong;
  const { username, password } = new URL(text);
  return username === '' && password === ''
    ? null
    : 'must not contain a user name or password: send them in a header';
}

export const httpUrl: TextCheck = (text) => urlWithoutUserInfo(text, ['https:', 'http:']);

/** Accepts a URL whose user information, if any, is sent as Basic credentials. */
export const httpUrlWithUserInfo: TextCheck = (text) => {
  const wrong = url(text, ['https:', 'http:']);
  if (wrong !== null) return wrong;
  const { username, password } = new URL(text);
  const isFound = userInfo.isIn(text);
  // The URL parser ignores additional slashes, but the secret part must be found in the text itself.
  return isFound === (username !== '' || password !== '')
    ? null
    : 'is not a valid URL: there are too many slashes after the scheme';
};

export const contactUrl: TextCheck = (text) => urlWithoutUserInfo(text, ['https:', 'http:', 'mailto:']);

/**
 * Accepts a domain name with the lengths of RFC 1035. Underscores are allowed, because they are in use
 * (`_dmarc.example.com`). A final dot is allowed too. IP addresses are refused.
 */
export const domainName: TextCheck = (text) => {
  if (text.includes('://')) return 'must be a domain name without a scheme, like example.com';
  if (isIP(text.replace(/^\[(.*)\]$/, '$1')) !== 0) return 'must be a domain name, not an IP address';
  if (/:\d*$/.test(text)) return 'must be a domain name without a port, like example.com';
  if (text.includes('/')) return 'must be a domain name without a path, like example.com';
  return isHostName(text) ? null : 'is not a domain name like example.com';
};

/** Accepts `host:port` with a port from 1 to 65535, and with brackets around an IPv6 address. */
export const hostAndPort: TextCheck = (text) => {
  if (text.includes('://')) return 'must be host:port without a scheme, like example.com:443';
  if (isIPv6(text)) return 'needs brackets around the IPv6 address and a port, like [::1]:443';
  const parts = splitHostAndPort(text);
  if (parts === null) {
    return text.includes(':') && !text.startsWith('[') && text.split(':').length > 2
      ? 'needs brackets around an IPv6 address, like [::1]:443'
      : 'must be host:port, like example.com:443';
  }
  if (!/^\d{1,5}$/.test(parts.port) || Number(parts.port) < 1 || Number(parts.port) > 65_535) {
    return 'has an invalid port: ports are whole numbers from 1 to 65535';
  }
  if (parts.isBracketed) {
    return isIPv6(parts.host) ? null : 'has brackets around what is not an IPv6 address';
  }
  return isIPv4(parts.host) || isHostName(parts.host)
    ? null
    : 'has a host that is neither a host name nor an IP address';
};

/**
 * The name as name servers are asked for it. Only names with characters beyond ASCII are converted, because
 * `domainToASCII` would also change ASCII names to lower case.
 */
export function asciiName(name: string): string {
  return /^[\u0000-\u007f]*$/.test(name) ? name : domainToASCII(name);
}

/**
 * Splits a text at its only colon outside brackets; null when there is no such colon, or several. The parts
 * are not judged.
 */
export function splitHostAndPort(text: string): { host: string; port: string; isBracketed: boolean } | null {
  const match = /^(?:\[([^\]]*)\]|([^:[\]]*)):([^:]*)$/.exec(text);
  if (match === null) return null;
  return { host: match[1] ?? match[2] ?? '', port: match[3] ?? '', isBracketed: match[1] !== undefined };
}

function isHostName(text: string): boolean {
  const ascii = /^[\u0000-\u007f]*$/.test(text) ? text : domainToASCII(text);
  const name = ascii.replace(/\.$/, '');
  if (name.length < 1 || name.length > 253) return false;
  const labels = name.split('.');
  // A last label that consists of digits would be read as an IPv4 address or as a part of one.
  if (/^\d+$/.test(labels.at(-1) ?? '')) return false;
  return labels.every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(label));
}

/**
 * Accepts a name under which a page can be served: several labels, no port, in
 * lower case as browsers send it.
 */
export const customDomain: TextCheck = (text) => {
  const wrong = domainName(text);
  if (wrong !== null) return wrong;
  if (text !== text.toLowerCase()) return 'must be in lower case';
  if (!text.includes('.') || text.endsWith('.')) return 'must be a full domain name like status.example.com';
  return null;
};

export const emailDomain: TextCheck = (text) => {
  if (text.includes('@')) return 'must be the part after the @ only, like example.com';
  return domainName(text);
};

export const email: TextCheck = (text) => {
  const at = text.lastIndexOf('@');
  const local = text.slice(0, at);
  const isValid =
    at > 0 &&
    local.length <= 64 &&
    /^[^\s@<>(),:;"\\[\]\u0000-\u001f\u007f]+$/.test(local) &&
    !/^\.|\.\.|\.$/.test(local) &&
    domainName(text.slice(at + 1)) === null;
  return isValid ? null : 'is not an e-mail address like ops@example.com';
};

/** Accepts a phone number of E.164: a plus sign and 7 to 15 digits, the country code first. */
export const phoneNumber: TextCheck = (text) =>
  /^\+[1-9]\d{6,14}$/.test(text)
    ? null
    : 'is not a phone number in international format: + and 7 to 15 digits without spaces, like +4915112345678';

export const slug: TextCheck = (text) =>
  /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(text)
    ? null
    : 'must consist of the letters a to z, digits, and hyphens between them';

/** Accepts a header name, which must be a token (RFC 9110, section 5.1). */
export const headerName: TextCheck = (text) =>
  /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(text)
    ? null
    : 'is not a header name: use letters, digits and hyphens, without spaces or a colon';

/**
 * Accepts the value of a header: tabs, and the Latin-1 characters from U+0020 on without DEL. The result
 * never contains the value, which may be a secret.
 */
export const headerValue: TextCheck = (text) => {
  if (/[\r\n\u0000]/.test(text)) return 'must not contain line breaks or NUL';
  if (/[^\t\u0020-\u007e\u0080-\u00ff]/.test(text)) {
    return 'contains characters that an HTTP header cannot carry: use Latin-1 characters, and encode others';
  }
  return null;
};

/** Accepts a key or token that is sent in a header or as a JSON member. */
export const credential: TextCheck = (text) =>
  /^[\u0021-\u007e]+$/.test(text) ? null : 'must be printable ASCII characters without spaces';

export const chatId: TextCheck = (text) =>
  /^(?:-?\d{1,20}|@[A-Za-z0-9_]{3,32})$/.test(text)
    ? null
    : 'is not a chat id: use a number like -1001234567890, or the @name of a public channel';

export const topic: TextCheck = (text) =>
  /^[-_A-Za-z0-9]{1,64}$/.test(text)
    ? null
    : 'is not a topic: use 1 to 64 letters, digits, hyphens and underscores';

export const identifier: TextCheck = (text) =>
  isId(text) ? null : 'is not an id: use a decimal number as a string, like "12"';

/** Matches a reference of the declared file: `${svc_http_monitor.api.id}`. */
export const REFERENCE = /^\$\{(svc_[a-z_]+)\.([^.{}\s]+)\.id\}$/;

export const declaredIdentifier: TextCheck = (text) =>
  REFERENCE.test(text) || identifier(text) === null
    ? null
    : `is not a reference like \${svc_http_monitor.api.id}, nor an id like "12"`;

/**
 * Lower-case names of headers that frame a message or belong to the connection. Only svc sets these headers.
 */
const FRAMING_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const OF_THE_CONNECTION = 'names a header that the connection itself sets';

/**
 * Accepts the name of a header that a monitor may set for its requests. `Host` is allowed, to reach one of
 * several sites at an address.
 */
export const probeHeaderName: TextCheck = (text) => {
  const wrong = headerName(text);
  if (wrong !== null) return wrong;
  const name = text.toLowerCase();
  return FRAMING_HEADERS.has(name) || name.startsWith('proxy-') ? OF_THE_CONNECTION : null;
};

/**
 * Accepts the name of a header that a user may set for requests to a channel or to an endpoint of OTLP.
 * `Host` is refused.
 */
export const outgoingHeaderName: TextCheck = (text) =>
  text.toLowerCase() === 'host' ? OF_THE_CONNECTION : probeHeaderName(text);
