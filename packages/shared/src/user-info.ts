import type { SecretPart } from './resources/definition.ts';

/**
 * The user information of a URL (`user:password` in `https://user:password@host/`) is a secret; the rest is
 * not. These functions work on the text as it was written, so that svc never rewrites a URL.
 *
 * The user information ends at the last `@` before the path (URL standard, "authority state").
 */
const USER_INFO = /^(https?:\/\/)([^/?#\\]*)@/i;

/** The text before the host; null when it is absent or empty. */
function userInfoIn(url: string): string | null {
  const found = USER_INFO.exec(url)?.[2] ?? '';
  return found === '' || found === ':' ? null : found;
}

function replaced(url: string, by: string): string {
  return userInfoIn(url) === null ? url : url.replace(USER_INFO, (_all, scheme: string) => `${scheme}${by}`);
}

/** The URL without its secret user information. */
export function withoutUserInfo(url: string): string {
  return replaced(url, '');
}

/** The user information as a secret part, for definitions. */
export const userInfo: SecretPart = {
  name: 'user information',
  isIn: (url) => userInfoIn(url) !== null,
  replaced: (url, mask) => replaced(url, `${mask}@`),
  left: withoutUserInfo,
};

/** User name and password without their percent-encoding. A part that cannot be decoded stays as it is. */
export function credentialsIn(url: URL): { user: string; password: string } | null {
  if (url.username === '' && url.password === '') return null;
  return { user: unescapePercent(url.username), password: unescapePercent(url.password) };
}

/** The value of `Authorization` (RFC 7617, in UTF-8). */
export function basicAuthorization({ user, password }: { user: string; password: string }): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/** Undoes the percent-encoding of a text. A text that cannot be decoded stays as it is. */
export function unescapePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
