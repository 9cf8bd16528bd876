import type { SecretPart } from './resources/definition.ts';
import { userInfo } from './user-info.ts';

/** Matches everything between the first `?` and the fragment, without either. */
const QUERY = /^([^?#]*)\?([^#]+)/;

/** The query of a URL, which may hold API keys and signatures. */
const query: SecretPart = {
  name: 'query',
  isIn: (url) => QUERY.test(url),
  replaced: (url, mask) => url.replace(QUERY, (_all, before: string) => `${before}?${mask}`),
  left: (url) => url.replace(QUERY, (_all, before: string) => before),
};

/** The secret parts of a URL, for definitions: its user information and its query. */
export const urlSecrets: SecretPart = {
  name: 'user information and query',
  isIn: (url) => userInfo.isIn(url) || query.isIn(url),
  replaced: (url, mask) => query.replaced(userInfo.replaced(url, mask), mask),
  left: (url) => query.left(userInfo.left(url)),
  isMasked: (url, mask) =>
    [userInfo, query].some((part) => part.isIn(url) && part.replaced(url, mask) === url),
};
