import type { SecretPart } from './resources/definition.ts';

/**
 * The user information of a URL (`user:password` in `https://user:password@host/`) is a secret, the rest of it
 * is not. Works on the text, as it was written: what is probed and shown is not rewritten.
 *
 * The user information ends at the last `@` before the path (URL standard, "authority state").
 */
const USER_INFO = /^(https?:\/\/)([^/?#\\]*)@/i;

/** What stands before the host; null when there is none, or nothing in it. */
function userInfoIn(url: string): string | null {
  const found = USER_INFO.exec(url)?.[2] ?? '';
  return found === '' || found === ':' ? null : found;
}

function replaced(url: string, by: string): string {
  return userInfoIn(url) === null ? url : url.replace(USER_INFO, (_all, scheme: string) => `${scheme}${by}`);
}

/** The URL as everybody may see it. */
export function withoutUserInfo(url: string): string {
  return replaced(url, '');
}

/** For definitions. */
export const userInfo: SecretPart = {
  name: 'user information',
  isIn: (url) => userInfoIn(url) !== null,
  replaced: (url, mask) => replaced(url, `${mask}@`),
  left: withoutUserInfo,
};

/** User name and password with their percent-encoding undone, in which a stray `%` stands for itself. */
export function credentialsIn(url: URL): { user: string; password: string } | null {
  if (url.username === '' && url.password === '') return null;
  return { user: unescapePercent(url.username), password: unescapePercent(url.password) };
}

/** The value of `Authorization` (RFC 7617, in UTF-8). */
export function basicAuthorization({ user, password }: { user: string; password: string }): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/** `text` with its percent-encoding undone; as it is where that cannot be done. */
export function unescapePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
