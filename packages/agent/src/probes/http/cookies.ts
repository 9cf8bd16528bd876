/** Most cookies of one attempt, over all hosts. The oldest goes first. */
const MAX_COOKIES = 50;
/** Bound on the name and value of one cookie, as in browsers (RFC 6265bis, section 5.6). */
const MAX_COOKIE_BYTES = 4 * 1_024;
/** Bound on a whole `Set-Cookie` line with its attributes. */
const MAX_LINE_BYTES = 8 * 1_024;
/** Bound on all cookies of one request. Servers refuse header lines beyond 8 KiB. */
const MAX_SENT_BYTES = 8_000;

type Cookie = { host: string; path: string; name: string; value: string; isSecure: boolean };

/**
 * The cookies of one attempt: those that its redirects have set, for the same host only, whatever their
 * `Domain` says.
 *
 * A login page that sets a cookie and redirects works with that, and no cookie outlives the attempt (RFC
 * 6265, sections 5.2 to 5.4, without `Domain` and public suffixes).
 */
export class Cookies {
  /** Cookies, the oldest first. */
  #cookies: Cookie[] = [];

  /**
   * Stores the cookies of an answer from `url`. Cookies that browsers refuse are skipped.
   *
   * @param lines values of `Set-Cookie`, one character per byte
   */
  store(url: URL, lines: readonly string[] | undefined): void {
    for (const line of lines ?? []) {
      const parsed = parse(url, line);
      if (parsed === undefined) continue;
      const { cookie, isExpired } = parsed;
      this.#cookies = this.#cookies.filter((other) => !isSame(other, cookie));
      if (!isExpired) this.#cookies.push(cookie);
      if (this.#cookies.length > MAX_COOKIES) this.#cookies.shift();
    }
  }

  /** The cookies of a request for `url` as `name=value`, those of longer paths first. */
  for(url: URL): string[] {
    const sent = this.#cookies
      .filter(
        ({ host, path, isSecure }) =>
          host === url.hostname && isUnder(url.pathname, path) && (!isSecure || url.protocol === 'https:'),
      )
      .sort((one, other) => other.path.length - one.path.length)
      .map(({ name, value }) => (name === '' ? value : `${name}=${value}`));
    let bytes = 0;
    return sent.filter((pair) => {
      bytes += Buffer.byteLength(pair) + 2;
      return bytes <= MAX_SENT_BYTES;
    });
  }
}

function isSame(one: Cookie, other: Cookie): boolean {
  return one.host === other.host && one.path === other.path && one.name === other.name;
}

/** Path-match of RFC 6265, section 5.1.4. */
function isUnder(path: string, cookiePath: string): boolean {
  if (!path.startsWith(cookiePath)) return false;
  return path.length === cookiePath.length || cookiePath.endsWith('/') || path[cookiePath.length] === '/';
}

function parse(url: URL, line: string): { cookie: Cookie; isExpired: boolean } | undefined {
  if (line.length > MAX_LINE_BYTES) return undefined;
  const [pair = '', ...attributes] = asSent(line).split(';');
  const equals = pair.indexOf('=');
  const name = pair.slice(0, Math.max(0, equals)).trim();
  const value = pair.slice(equals + 1).trim();
  if (name === '' && value === '') return undefined;
  if (FORBIDDEN.test(name) || FORBIDDEN.test(value)) return undefined;
  if (name.length + value.length > MAX_COOKIE_BYTES) return undefined;
  const given = attributesOf(attributes);
  const domain = given.get('domain')?.replace(/^\./, '').toLowerCase() ?? '';
  if (domain !== '' && url.hostname !== domain && !url.hostname.endsWith(`.${domain}`)) return undefined;
  const isSecure = given.has('secure');
  // An answer without TLS cannot set a cookie for TLS (RFC 6265bis, section 5.7, step 11).
  if (isSecure && url.protocol !== 'https:') return undefined;
  const path = given.get('path') ?? '';
  return {
    cookie: {
      host: url.hostname,
      path: path.startsWith('/') ? path : defaultPath(url),
      name,
      value,
      isSecure,
    },
    isExpired: isExpired(given),
  };
}

/** Attributes by lower-case name. Of a repeated attribute the last one counts. */
function attributesOf(attributes: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    attributes.map((attribute) => {
      const [name = '', ...rest] = attribute.split('=');
      return [name.trim().toLowerCase(), rest.join('=').trim()];
    }),
  );
}

/** `Max-Age` wins over `Expires`. An unreadable value sets no bound. */
function isExpired(attributes: ReadonlyMap<string, string>): boolean {
  const maxAge = attributes.get('max-age') ?? '';
  if (/^-?\d+$/.test(maxAge)) return Number(maxAge) <= 0;
  return Date.parse(attributes.get('expires') ?? '') <= Date.now();
}

/** The directory of the request's path (RFC 6265, section 5.1.4). */
function defaultPath({ pathname }: URL): string {
  const end = pathname.lastIndexOf('/');
  return end <= 0 ? '/' : pathname.slice(0, end);
}

/** Decodes a line as UTF-8. Requests are sent as UTF-8, so text comes back byte by byte as it was. */
function asSent(line: string): string {
  return Buffer.from(line, 'latin1').toString('utf8');
}

/** Control characters, and the replacement for bytes that are not UTF-8. */
const FORBIDDEN = /[\u0000-\u001f\u007f\ufffd]/;
