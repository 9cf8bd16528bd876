import type { Visit } from './site.ts';

/**
 * The name as it is sent. Under TLS it begins with `__Host-`: browsers then take the cookie only with `Secure`,
 * `Path=/` and without a domain, so no sub-domain and no plain connection can set it (RFC 6265bis, section 4.1.3).
 */
function sentName(name: string, isSecure: boolean): string {
  return isSecure ? `__Host-${name}` : name;
}

/** The value of a cookie of a request; null: there is none, or there are several. */
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
 * The secret in a cookie of a request, as `randomSecret` makes them; null: there is none. Visitors send what they like:
 * an empty seed would be everybody's, and other characters cannot be set again.
 */
export function secretCookieOf(visit: Pick<Visit, 'request' | 'isSecure'>, name: string): string | null {
  const value = cookieOf(visit, name);
  return value !== null && /^[\w-]{43}$/.test(value) ? value : null;
}

/**
 * The value of a `Set-Cookie` header.
 *
 * @param value of the characters of base64url
 * @param maxAgeSeconds 0 removes the cookie
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
