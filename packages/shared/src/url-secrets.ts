import type { SecretPart } from './resources/definition.ts';
import { MASK } from './secret.ts';

/** Matches the text between the first `?` and the fragment. The match excludes both characters. */
const QUERY = /^([^?#]*)\?([^#]+)/;

/** The query of a URL, which may hold API keys and signatures. */
const query: SecretPart = {
  name: 'query',
  isIn: (url) => QUERY.test(url),
  replaced: (url, mask) => url.replace(QUERY, (_all, before: string) => `${before}?${mask}`),
  left: (url) => url.replace(QUERY, (_all, before: string) => before),
};

/** The secret parts of a URL in definitions: its user information and its query. */
export const urlSecrets: SecretPart = {
  name: 'user information and query',
  isIn: (url) => userInfo.isIn(url) || query.isIn(url),
  replaced: (url, mask) => query.replaced(userInfo.replaced(url, mask), mask),
  left: (url) => query.left(userInfo.left(url)),
  isMasked: (url, mask) =>
    [userInfo, query].some((part) => part.isIn(url) && part.replaced(url, mask) === url),
};

/**
 * Matches the beginning of a URL with user information (`user:password` in `https://user:password@host/`),
 * which is a secret. The functions of this file change the text as it was written, so that svc never rewrites
 * the rest of a URL.
 *
 * The user information ends at the last `@` before the path (URL standard, "authority state").
 */
const USER_INFO = /^(https?:\/\/)([^/?#\\]*)@/i;

/** The user information of a URL; null when it is absent or empty. */
function userInfoIn(url: string): string | null {
  const found = USER_INFO.exec(url)?.[2] ?? '';
  return found === '' || found === ':' ? null : found;
}

function replaced(url: string, by: string): string {
  return userInfoIn(url) === null ? url : url.replace(USER_INFO, (_all, scheme: string) => `${scheme}${by}`);
}

/** The URL without its user information, which is secret. */
export function withoutUserInfo(url: string): string {
  return replaced(url, '');
}

/** The user information of a URL as a secret part, for definitions. */
export const userInfo: SecretPart = {
  name: 'user information',
  isIn: (url) => userInfoIn(url) !== null,
  replaced: (url, mask) => replaced(url, `${mask}@`),
  left: withoutUserInfo,
};

/**
 * Member of an HTTP monitor in the API's answers. It is the mask when the answer leaves out the user
 * information of `url`, as for tokens that may only read; otherwise null. A client that compares the answer
 * or sends it back can see from this member that the URL is not complete.
 */
export const HIDDEN_USER_INFO = 'url_user_information';

type Members = Readonly<Record<string, unknown>>;

/** Removes masked user information from `url`, and shows the mask in a separate member instead. */
export function userInfoApart<T extends Members>(monitor: T): T & { [HIDDEN_USER_INFO]: typeof MASK | null } {
  const { url } = monitor;
  const isHidden = typeof url === 'string' && userInfo.isIn(url) && userInfo.replaced(url, MASK) === url;
  return isHidden
    ? { ...monitor, url: withoutUserInfo(url), [HIDDEN_USER_INFO]: MASK }
    : { ...monitor, [HIDDEN_USER_INFO]: null };
}

/** Whether a resource comes from an answer to a token that may not see the user information of `url`. */
export function hidesUserInfo({ url, [HIDDEN_USER_INFO]: hidden }: Members): boolean {
  return hidden === MASK && typeof url === 'string' && !userInfo.isIn(url);
}

/**
 * The inverse of {@link userInfoApart}, for clients: it puts the mask into `url` in the
 * place of the user information.
 */
export function userInfoJoined<T extends Members>(answered: T): T {
  if (!hidesUserInfo(answered)) return answered;
  return { ...answered, url: String(answered.url).replace(/^https?:\/\//i, (scheme) => `${scheme}${MASK}@`) };
}

/**
 * The user name and password of a URL, percent-decoded; null: the URL has neither. A part that cannot be
 * decoded is kept unchanged.
 */
export function credentialsIn(url: URL): { user: string; password: string } | null {
  if (url.username === '' && url.password === '') return null;
  return { user: unescapePercent(url.username), password: unescapePercent(url.password) };
}

/** The value of the header `Authorization` for Basic credentials (RFC 7617, in UTF-8). */
export function basicAuthorization({ user, password }: { user: string; password: string }): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/** Undoes the percent-encoding of a text. A text that cannot be decoded is returned unchanged. */
export function unescapePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
