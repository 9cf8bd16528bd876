import type { CookieJar } from 'tough-cookie';

/** Maximum size of the name and value of one cookie, bytes (RFC 6265bis, section 5.6). */
const MAX_COOKIE_BYTES = 4 * 1_024;
/** Maximum size of a whole `Set-Cookie` line with its attributes, bytes. */
const MAX_LINE_BYTES = 8 * 1_024;
/**
 * Maximum size of all cookies in one request, bytes. Many servers refuse header lines beyond
 * 8 KiB. The first cookie that does not fit is left out, and so are those after it.
 */
const MAX_SENT_BYTES = 8_000;

type Library = typeof import('tough-cookie');

/** Loads the cookie library. With its list of public suffixes, it takes some 10 MiB of memory. */
export async function openCookies(): Promise<Cookies> {
  return new Cookies(await import('tough-cookie'));
}

/**
 * The cookies that the redirects of one attempt have set. Each cookie is sent to the hosts and
 * paths that RFC 6265 names. A cookie with a `Domain` is sent to all hosts of that domain, but
 * is refused if the domain is a public suffix (`co.uk`). No cookie outlives the attempt.
 */
export class Cookies {
  readonly #library: Library;
  readonly #jar: CookieJar;

  constructor(library: Library) {
    this.#library = library;
    this.#jar = new library.CookieJar(undefined, { allowSecureOnLocal: false });
  }

  /**
   * Stores the cookies that an answer from `url` sets. Cookies that browsers refuse are left out.
   *
   * @param lines values of `Set-Cookie`, one character per byte
   */
  store(url: URL, lines: readonly string[] | undefined): void {
    for (const line of lines ?? []) {
      if (line.length > MAX_LINE_BYTES) continue;
      try {
        this.#add(url, asSent(line));
      } catch {
        // The library throws for a domain that is no host name. Browsers refuse such a cookie.
      }
    }
  }

  #add(url: URL, line: string): void {
    const cookie = this.#library.Cookie.parse(line, { loose: true });
    const pair = cookie?.cookieString() ?? '';
    if (cookie === undefined || pair === '' || FORBIDDEN.test(pair)) return;
    if (Buffer.byteLength(cookie.key) + Buffer.byteLength(cookie.value) > MAX_COOKIE_BYTES) return;
    // A cookie's `Domain` may be the host itself even if the host is
    // a public suffix or has no dot (RFC 6265, section 5.3, step 5).
    if (cookie.cdomain() === url.hostname && !this.#hasOwner(url.hostname)) cookie.domain = null;
    this.#jar.setCookieSync(cookie, placeOf(url), { ignoreError: true });
  }

  /**
   * Whether the host is a registered domain or a host below
   * it. A public suffix is not, and neither is an address.
   */
  #hasOwner(host: string): boolean {
    return this.#library.getPublicSuffix(host, { ignoreError: true }) !== undefined;
  }

  /** The cookies for a request to `url`, each as `name=value`. Cookies with longer paths come first. */
  for(url: URL): string[] {
    let bytes = 0;
    return this.#jar
      .getCookiesSync(placeOf(url))
      .map((cookie) => cookie.cookieString())
      .filter((pair) => {
        bytes += Buffer.byteLength(pair) + 2;
        return bytes <= MAX_SENT_BYTES;
      });
  }
}

/**
 * The URL as the cookie library needs it. The library (version 6.1) decodes
 * the path once, but cookies' paths must be compared as they were sent.
 */
function placeOf({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname.replaceAll('%', '%25')}`;
}

/** Decodes a line as UTF-8. Requests are sent as UTF-8, so the server gets the same bytes back. */
function asSent(line: string): string {
  return Buffer.from(line, 'latin1').toString('utf8');
}

/** Matches control characters and the replacement character, which stands for bytes that are not UTF-8. */
const FORBIDDEN = /[\u0000-\u001f\u007f\ufffd]/;
