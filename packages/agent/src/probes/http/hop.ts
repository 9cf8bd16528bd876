import { isIP } from 'node:net';
import type { HttpCheck } from '@svc/shared/messages/check.ts';

type Header = HttpCheck['headers'][number];

/** One request of an attempt: the declared request, or a request to which a redirect leads. */
export type Hop = {
  url: URL;
  method: HttpCheck['method'];
  headers: readonly Header[];
  /** The request body; empty when no body is sent. */
  body: string;
  /** Cookies for this URL that earlier redirects have set, each as `name=value`. */
  cookies: readonly string[];
  /**
   * Whether the user name and password in `url` are sent.
   * They come from the declared URL or from a `Location`.
   */
  sendsUrlCredentials: boolean;
};

/** The first hop, or the reason why the declared target cannot be requested at all. */
export function firstHop(check: HttpCheck): Hop | string {
  const url = URL.parse(check.url);
  if (url === null || !isHttp(url)) return 'the URL is not a valid http or https URL';
  // A body has no meaning with GET and HEAD (RFC 9110, section 9.3.1), and many servers refuse it.
  const body = check.method === 'GET' || check.method === 'HEAD' ? '' : check.body;
  return { url, method: check.method, headers: check.headers, body, cookies: [], sendsUrlCredentials: true };
}

/** Whether a `Location` is followed for this status (Fetch standard, "redirect status"). */
export function isRedirect(statusCode: number): boolean {
  return (
    statusCode === 301 || statusCode === 302 || statusCode === 303 || statusCode === 307 || statusCode === 308
  );
}

/**
 * The request to which a redirect leads, or the reason why the redirect cannot be followed.
 *
 * The rules are those of the Fetch standard. 303 becomes GET, except for HEAD. 301 and 302 turn POST into
 * GET. 307 and 308 keep the method and the body. Another origin gets only headers that carry no
 * credentials. A dropped header stays dropped, even when a later redirect leads back to the first origin.
 *
 * @param location the header's value, one character per byte
 */
export function redirectedHop(hop: Hop, statusCode: number, location: string): Hop | string {
  // Some servers send unescaped bytes of UTF-8 or Latin-1. Browsers and curl request
  // the same bytes, percent-encoded.
  const target = location.replace(/[\x80-\xff]/g, encodedByte);
  const url = URL.parse(target, hop.url.href);
  if (url === null) return 'redirected to a Location that is not a URL';
  if (!isHttp(url)) return `redirected to a ${url.protocol.slice(0, 20)} URL, which is not http or https`;
  const becomesGet =
    (statusCode === 303 && hop.method !== 'GET' && hop.method !== 'HEAD') ||
    ((statusCode === 301 || statusCode === 302) && hop.method === 'POST');
  const isSameOrigin = url.origin === hop.url.origin;
  const headers = hop.headers.filter(
    ({ key }) =>
      (isSameOrigin || HARMLESS_HEADERS.has(key.toLowerCase())) &&
      !(becomesGet && BODY_HEADERS.has(key.toLowerCase())),
  );
  // A user name and password are valid for a whole origin. Credentials
  // in a `Location` are sent, because curl, browsers and Go send them.
  const hasOwn = url.username !== '' || url.password !== '';
  const keepsFormer = !hasOwn && isSameOrigin && hop.sendsUrlCredentials;
  if (keepsFormer) {
    url.username = hop.url.username;
    url.password = hop.url.password;
  }
  return {
    url,
    method: becomesGet ? 'GET' : hop.method,
    headers,
    body: becomesGet ? '' : hop.body,
    cookies: [],
    sendsUrlCredentials: hasOwn || keepsFormer,
  };
}

function encodedByte(byte: string): string {
  return `%${byte.charCodeAt(0).toString(16).toUpperCase()}`;
}

/**
 * The configured headers that another origin may see. A credential may have any name
 * (`X-Api-Key`, `PRIVATE-TOKEN`), so the list has the harmless headers, not the dangerous ones.
 */
const HARMLESS_HEADERS = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'content-encoding',
  'content-language',
  'content-type',
  'pragma',
  'user-agent',
]);

const BODY_HEADERS = new Set(['content-encoding', 'content-language', 'content-location', 'content-type']);

/** The port to dial: that of the URL, or the usual port of its scheme. */
export function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

/** The host to resolve and dial; IPv6 literals have no brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.charCodeAt(0) === OPENING_BRACKET ? hostname.slice(1, -1) : hostname;
}

/**
 * The name of the host for SNI and for the check of the certificate.
 * A host may end in a dot for resolvers; this name does not.
 */
export function serverNameOf(host: string): string {
  return isIP(host) === 0 && host.endsWith('.') ? host.slice(0, -1) : host;
}

const OPENING_BRACKET = 0x5b;

function isHttp({ protocol }: URL): boolean {
  return protocol === 'http:' || protocol === 'https:';
}
