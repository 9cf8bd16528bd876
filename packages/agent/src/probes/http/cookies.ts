import type { CookieJar } from 'tough-cookie';

/** Bound on the name and value of one cookie, as in browsers (RFC 6265bis, section 5.6). */
const MAX_COOKIE_BYTES = 4 * 1_024;
/** Bound on a whole `Set-Cookie` line with its attributes. */
const MAX_LINE_BYTES = 8 * 1_024;
/** Bound on all cookies of one request. Servers refuse header lines beyond 8 KiB. */
const MAX_SENT_BYTES = 8_000;

type Library = typeof import('tough-cookie');

/** Loads the cookies' library, which has the public suffix list and takes some 10 MiB. */
export async function openCookies(): Promise<Cookies> {
  return new Cookies(await import('tough-cookie'));
}

/**
 * The cookies that the redirects of one attempt have set. Each goes to the hosts and paths that RFC 6265
 * names. A cookie with a `Domain` goes to all hosts of that domain, unless the domain is a public suffix
 * (`co.uk`). No cookie outlives the attempt.
 */
export class Cookies {
  readonly #library: Library;
  readonly #jar: CookieJar;

  constructor(library: Library) {
    this.#library = library;
    this.#jar = new library.CookieJar(undefined, { allowSecureOnLocal: false });
  }

  /**
   * Stores the cookies of an answer from `url`. Cookies that browsers refuse are skipped.
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
    if (cookie.key.length + cookie.value.length > MAX_COOKIE_BYTES) return;
    // A public suffix or a name without dots may name itself (RFC 6265, section 5.3, step 5).
    if (cookie.cdomain() === url.hostname && !this.#hasOwner(url.hostname)) cookie.domain = null;
    this.#jar.setCookieSync(cookie, placeOf(url), { ignoreError: true });
  }

  /** Whether the host is a registered domain or below one, and neither a public suffix nor an address. */
  #hasOwner(host: string): boolean {
    return this.#library.getPublicSuffix(host, { ignoreError: true }) !== undefined;
  }

  /** The cookies of a request for `url` as `name=value`, cookies of longer paths first. */
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
 * The URL for the library, which decodes the path once (6.1). Cookies' paths are compared as they were sent.
 */
function placeOf({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname.replaceAll('%', '%25')}`;
}

/** Decodes a line as UTF-8. Requests are sent as UTF-8, so text comes back byte by byte as it was. */
function asSent(line: string): string {
  return Buffer.from(line, 'latin1').toString('utf8');
}

/** Control characters, and the replacement for bytes that are not UTF-8. */
const FORBIDDEN = /[\u0000-\u001f\u007f\ufffd]/;
