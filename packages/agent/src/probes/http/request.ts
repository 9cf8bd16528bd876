import { basicAuthorization, credentialsIn } from '@svc/shared/url-secrets.ts';
import type { Hop } from './hop.ts';

/**
 * Renders a request with its body as one text, which is sent as UTF-8 in one write.
 *
 * svc sets `Content-Length` and `Connection` itself, and sends no other header about framing. A
 * configured `Host`, `User-Agent`, `Accept`, `Accept-Encoding` or `Authorization` replaces
 * svc's own. Configured cookies and the cookies that redirects have set share one line.
 *
 * @returns the text, or the reason why the configured headers cannot be sent
 */
export function renderRequest(hop: Hop, userAgent: string): { text: string } | { problem: string } {
  const { url, method, body } = hop;
  let configured = '';
  let has = 0;
  let { cookies } = hop;
  for (const { key, value } of hop.headers) {
    const name = key.toLowerCase();
    if (FRAMING_HEADERS.has(name)) continue;
    if (!TOKEN.test(key)) return { problem: `the name of a configured header is not allowed in HTTP` };
    if (FORBIDDEN_IN_VALUE.test(value))
      return { problem: `the value of header ${key} has a control character` };
    has |= DEFAULTED[name] ?? 0;
    if (name === 'cookie' && hop.cookies.length > 0) cookies = withConfigured(value, cookies);
    else configured += `${key}: ${value}\r\n`;
  }
  let text = `${method} ${url.pathname}${url.search} HTTP/1.1\r\n`;
  if ((has & HOST) === 0) text += `Host: ${url.host}\r\n`;
  if ((has & USER_AGENT) === 0) text += `User-Agent: ${userAgent}\r\n`;
  if ((has & ACCEPT) === 0) text += 'Accept: */*\r\n';
  if ((has & ACCEPT_ENCODING) === 0) text += 'Accept-Encoding: gzip, deflate, br, zstd\r\n';
  if ((has & AUTHORIZATION) === 0 && hop.sendsUrlCredentials) {
    const credentials = credentialsIn(url);
    if (credentials !== null) text += `Authorization: ${basicAuthorization(credentials)}\r\n`;
  }
  text += configured;
  if (cookies.length > 0) text += `Cookie: ${cookies.join('; ')}\r\n`;
  if (body !== '') text += `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  else if (method === 'POST' || method === 'PUT' || method === 'PATCH') text += 'Content-Length: 0\r\n';
  return { text: `${text}Connection: close\r\n\r\n${body}` };
}

const HOST = 1;
const USER_AGENT = 2;
const ACCEPT = 4;
const ACCEPT_ENCODING = 8;
const AUTHORIZATION = 16;

/**
 * Headers that svc sends unless the monitor configures them; `Authorization`
 * only if the URL has credentials. Each has one bit.
 */
const DEFAULTED: Readonly<Record<string, number>> = {
  __proto__: null as never,
  host: HOST,
  'user-agent': USER_AGENT,
  accept: ACCEPT,
  'accept-encoding': ACCEPT_ENCODING,
  authorization: AUTHORIZATION,
};

/**
 * Headers about the framing and the connection. Configured ones are
 * not sent, because they would contradict how svc really sends the request.
 */
const FRAMING_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * The configured cookies, followed by the cookies that the target has set. A configured cookie whose name
 * the target has set is left out.
 */
function withConfigured(configured: string, set: readonly string[]): string[] {
  const names = new Set(set.map(nameOf));
  const kept = configured
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair !== '' && !names.has(nameOf(pair)));
  return [...kept, ...set];
}

function nameOf(pair: string): string {
  return pair.slice(0, Math.max(0, pair.indexOf('=')));
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const FORBIDDEN_IN_VALUE = /[\u0000-\u0008\u000a-\u001f\u007f]/;
