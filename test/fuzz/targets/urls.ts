import { equal, ok } from 'node:assert/strict';
import { Cookies } from '@svc/agent/probes/http/cookies.ts';
import { MAX_HEAD_LINES } from '@svc/agent/probes/http/response-head.ts';
import { maskedExcerpt, querySecrets } from '@svc/shared/masking/mask.ts';
import { onOneLine } from '@svc/shared/masking/secret-forms.ts';
import { parseNatsServers, shownServers } from '@svc/shared/nats/servers.ts';
import { parseNoProxy } from '@svc/shared/proxy/no-proxy.ts';
import { parseProxy } from '@svc/shared/proxy/proxy.ts';
import { credentialsIn, urlSecrets, userInfo, withoutUserInfo } from '@svc/shared/url-secrets.ts';
import * as library from 'tough-cookie';
import { type FuzzTarget, latin1, never } from '../target.ts';

const MASK = '********';
const URLS = [
  'https://example.com/a?b=c#d',
  'http://user:password@example.com:8080/',
  'https://u@a/',
  'http://:p@a',
  'HTTPS://A:B@C',
  'http://a@b@c/?token=secret&x',
  'http://a:b@c\\@d',
  'http:/a@b',
  'http://[::1]/?',
  'http://a?b@c',
  'http://a#?b',
];
const WORDS = [
  '@',
  ':',
  '/',
  '//',
  '?',
  '#',
  '\\',
  '%',
  '%40',
  '&',
  '=',
  'http://',
  'https://',
  'user:pass@',
  '[::1]',
  '\t',
  '\n',
];

export const URL_SECRETS: FuzzTarget = {
  name: 'url-secrets',
  corpus: URLS.map(latin1),
  words: WORDS,
  parse: (input) => urlSecrets.replaced(input.toString(), MASK),
  isRefusal: never,
  check(input) {
    const text = input.toString();
    const [left, masked] = [urlSecrets.left(text), urlSecrets.replaced(text, MASK)];
    equal(urlSecrets.isIn(left), false, 'a secret is left');
    equal(urlSecrets.replaced(masked, MASK), masked, 'masked again');
    equal(urlSecrets.isIn(masked), urlSecrets.isIn(text), 'whether something is masked');
    const url = URL.parse(text);
    // Addresses as people write them. The URL parser ignores some blanks, and accepts other ways to write the
    // slashes.
    if (url === null || !/^https?:\/\/[^/\\\s]/i.test(text) || /[\t\n\r]/.test(text)) return;
    equal(userInfo.isIn(text), credentialsIn(url) !== null, 'whether there is user information');
    equal(URL.parse(withoutUserInfo(text))?.host, url.host, 'the host without user information');
    const shown = URL.parse(masked);
    ok(url.search.length <= 1 || shown === null || shown.search === `?${MASK}`, `the query ${shown?.search}`);
  },
};

export const MASKING: FuzzTarget = {
  name: 'masking',
  corpus: [
    'Bearer abcdefgh12 got abcdefgh12',
    'p q/r a=p%20q%2Fr',
    '?token=secret&x got secret',
    'a"b\\c a\\"b\\\\c',
  ].map(latin1),
  words: [' ', '%20', '+', '&', '=', '"', '\\', '*', '****', 'Bearer '],
  parse: (input) => maskedExcerpt(input.toString(), [input.toString('latin1', 0, 40)], 900),
  isRefusal: never,
  check(input, random) {
    const text = input.toString();
    const start = random.between(0, text.length);
    // White space around a secret is not sent, and does not count for its length.
    const secret = onOneLine(text.slice(start, start + random.between(4, 30)));
    if (secret.length >= 4 && !secret.includes('*')) {
      const shown = maskedExcerpt(text, [secret], 900);
      ok(!shown.includes(secret), `the secret ${JSON.stringify(secret)} is left`);
    }
    const url = URL.parse(`https://a.example/?${text}`);
    if (url !== null) querySecrets(url);
    const line = maskedExcerpt(text, [], 60);
    ok(Buffer.byteLength(line) <= 60 && line.isWellFormed() && !/[\u0000-\u001f\u007f-\u009f]/.test(line));
  },
};

const FROM = new URL('https://www.example.com/account/login');

/** The maximum that a head may have. */
const linesOf = (input: Buffer): string[] => input.toString('latin1').split('\n').slice(0, MAX_HEAD_LINES);

export const COOKIES: FuzzTarget = {
  name: 'cookies',
  corpus: [
    'a=b',
    'session=x; Path=/; Secure; HttpOnly',
    'a=b; Domain=.example.com; Max-Age=-1',
    '=v; path=/account/',
    'a=b; Expires=Thu, 01 Jan 1970 00:00:00 GMT; max-age=9',
  ].map(latin1),
  words: [
    ';',
    '=',
    'Path=',
    '/',
    'Domain=',
    'example.com',
    'Max-Age=',
    'Expires=',
    'Secure',
    ' ',
    ',',
    '\n',
    'ü',
  ],
  parse(input) {
    const cookies = new Cookies(library);
    cookies.store(FROM, linesOf(input));
    return cookies.for(FROM);
  },
  isRefusal: never,
  check(input) {
    const cookies = new Cookies(library);
    const lines = linesOf(input);
    cookies.store(FROM, lines);
    const sent = cookies.for(FROM);
    ok(Buffer.byteLength(sent.join('; ')) <= 8_000);
    for (const pair of sent) ok(!/[\u0000-\u001f\u007f;]/.test(pair), `sends ${JSON.stringify(pair)}`);
    cookies.store(FROM, lines);
    equal(cookies.for(FROM).join(), sent.join(), 'set again');
    equal(cookies.for(new URL('https://other.example/account/login')).length, 0, 'sent to another host');
    for (const pair of cookies.for(new URL('http://www.example.com/'))) ok(sent.length === 0 || pair !== '');
  },
};

export const PROXIES: FuzzTarget = {
  name: 'proxies',
  corpus: [
    'http://user:p%40ss@proxy.example:3128',
    'http://[2001:db8::1]:1/',
    'nats://a:1,nats://b',
    'tls://u:p@a:4222',
    'token@a',
    'example.com,.example.org:8080',
    '10.0.0.0/8, [fd00::1]:443, *',
    'fe80::1%eth0',
    '*.a.',
    'localhost,::1/129,1.2.3.4/33',
  ].map(latin1),
  words: [
    ...WORDS,
    ',',
    '*',
    '.',
    '/8',
    '%eth0',
    'fe80::1',
    '10.0.0.1',
    ':443',
    'nats://',
    'tls://',
    'localhost',
  ],
  parse: (input) => everywhere(input.toString()),
  // The operator's own list, read once. Each of its hosts is parsed and then compared with nine others.
  mostBytes: 16 * 1_024,
  isRefusal: never,
  check: (input) => everywhere(input.toString()),
};

/** The text as the address of a proxy, as a list of hosts without a proxy, and as NATS servers. */
function everywhere(text: string): void {
  const proxy = accepted(() => parseProxy(text));
  if (proxy !== null) ok(proxy.host !== '' && proxy.port >= 0 && proxy.port <= 65_535);
  const bypass = parseNoProxy(text);
  for (const host of ['example.com', 'a.b.example.org.', '10.1.2.3', 'fd00::1', 'fe80::1%eth0', text])
    bypass(host, 443);
  ok(bypass('127.0.0.1', 1) && bypass('localhost', 1) && bypass('::1', 1), 'loopback by a proxy');
  const servers = accepted(() => parseNatsServers(text));
  if (servers !== null) ok(!shownServers(servers).includes('@'), 'credentials are shown');
}

/** Null: it is refused, in a message that does not repeat it. */
function accepted<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof TypeError) || !/^(?:must|names) /.test(error.message)) throw error;
    return null;
  }
}
