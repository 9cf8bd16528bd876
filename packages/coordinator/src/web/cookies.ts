import type { Visit } from './site.ts';

/**
 * The cookie's name on the wire. Under TLS it begins with `__Host-`: browsers accept such a cookie only with
 * `Secure`, `Path=/` and without a domain. So neither a sub-domain nor a plain connection can set it (RFC
 * 6265bis, section 4.1.3).
 */
function sentName(name: string, isSecure: boolean): string {
  return isSecure ? `__Host-${name}` : name;
}

/** The value of a request's cookie; null: the request has no cookie of this name, or several. */
export function cookieOf(
  { request, isSecure }: Pick<Visit, 'request' | 'isSecure'>,
  name: string,
): string | null {
  const prefix = `${sentName(name, isSecure)}=`;
  const found = (request.headers.get('cookie') ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix));
  const [only] = found;
  return found.length === 1 && only !== undefined ? only.slice(prefix.length) : null;
}

/**
 * The secret in a request's cookie; null: the cookie is missing, or its value is not 43 characters of
 * base64url, as `randomSecret` makes it. The value is checked because visitors may send anything: an empty
 * secret would be the same for all visitors, and {@link setCookie} refuses characters outside base64url.
 */
export function secretCookieOf(visit: Pick<Visit, 'request' | 'isSecure'>, name: string): string | null {
  const value = cookieOf(visit, name);
  return value !== null && /^[\w-]{43}$/.test(value) ? value : null;
}

/**
 * The value of a `Set-Cookie` header.
 *
 * @param value text in the characters of base64url
 * @param maxAgeSeconds 0 removes the cookie
 * @throws TypeError when the value has other characters
 */
export function setCookie(
  { isSecure }: Pick<Visit, 'isSecure'>,
  name: string,
  value: string,
  maxAgeSeconds: number,
): string {
  if (!/^[\w-]*$/.test(value)) throw new TypeError(`the cookie ${name} has a value of other characters`);
  const secure = isSecure ? '; Secure' : '';
  return `${sentName(name, isSecure)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${maxAgeSeconds}${secure}`;
}

/** The value of a `Set-Cookie` header that removes the cookie. */
export function removeCookie(visit: Pick<Visit, 'isSecure'>, name: string): string {
  return setCookie(visit, name, '', 0);
}
