import { cookieOf, removeCookie, setCookie } from '../web/cookies.ts';
import type { Visit } from '../web/site.ts';

/** Name of the cookie that carries a notice over a redirect. */
const NOTICE_COOKIE = 'svc-notice';
/** Most characters of a notice. */
const LONGEST = 500;
/** Time in which the next page must come, s. */
const LIFE_S = 60;

/** The `Set-Cookie` header that gives the next page this notice. */
export function noticeCookie(visit: Visit, notice: string): string {
  const value = Buffer.from(notice.slice(0, LONGEST)).toString('base64url');
  return setCookie(visit, NOTICE_COOKIE, value, LIFE_S);
}

/** The notice for this page, with the `Set-Cookie` header that removes it; null: there is none. */
export function takeNotice(visit: Visit): { readonly text: string; readonly cookie: string } | null {
  const value = cookieOf(visit, NOTICE_COOKIE);
  if (value === null || value === '') return null;
  const text = Buffer.from(value, 'base64url').toString().slice(0, LONGEST);
  return { text, cookie: removeCookie(visit, NOTICE_COOKIE) };
}
